package podrunner

import "strings"

// Program stands for an image.
type Program struct {
	// Path is the program's file.
	Path string
	// Args come before the pod's own arguments.
	Args []string
}

// programFor finds the program that stands for an image. The key of images is a repository or its
// last path elements: "pause" stands for every registry's ".../pause", whatever its tag or digest.
// The longest key that matches wins.
func programFor(image string, images map[string]Program) (Program, bool) {
	repository := repositoryOf(image)
	var best string
	for name := range images {
		if (repository == name || strings.HasSuffix(repository, "/"+name)) && len(name) > len(best) {
			best = name
		}
	}
	program, found := images[best]
	return program, found
}

// repositoryOf is the image without its tag and digest. A colon before the last slash is a
// registry's port.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}
