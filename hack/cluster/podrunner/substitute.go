package podrunner

import (
	"cmp"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A rule replaces a word of a pod's args, command and env values by what stands for it here.
//
// A path matches where a path starts and goes on only below it; a host matches as a whole word.
type rule struct {
	from, to string
	isPath   bool
}

// rulesFor are the substitutions that stand for a container's mount namespace, its network
// namespace and DNS: every mount path becomes the volume's directory, every name of "this very
// host" the pod's address, every host of resolve the address given for it.
func rulesFor(
	c corev1.Container, volumeDir func(volume string) string, address string,
	resolve map[string]string,
) []rule {
	var rules []rule
	for _, mount := range c.VolumeMounts {
		rules = append(rules, rule{
			from:   path.Clean(mount.MountPath),
			to:     volumeDir(mount.Name),
			isPath: true,
		})
	}
	for _, own := range []string{"127.0.0.1", "0.0.0.0", "localhost"} {
		rules = append(rules, rule{from: own, to: address})
	}
	for host, at := range resolve {
		rules = append(rules, rule{from: host, to: at})
	}
	// The longest first: /a/b before /a, name:port before name.
	slices.SortFunc(rules, func(a, b rule) int {
		return cmp.Or(cmp.Compare(len(b.from), len(a.from)), cmp.Compare(a.from, b.from))
	})
	return rules
}

// substitute applies the rules once, from left to right; what a rule has put in is not looked at
// again.
func substitute(text string, rules []rule) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		if r, found := ruleAt(text, at, rules); found {
			out.WriteString(r.to)
			at += len(r.from)
			continue
		}
		out.WriteByte(text[at])
		at++
	}
	return out.String()
}

func ruleAt(text string, at int, rules []rule) (rule, bool) {
	for _, r := range rules {
		if !strings.HasPrefix(text[at:], r.from) {
			continue
		}
		rest := text[at+len(r.from):]
		if rest != "" && inName(rest[0]) {
			continue
		}
		if at > 0 && !r.mayFollow(text[:at]) {
			continue
		}
		return r, true
	}
	return rule{}, false
}

// mayFollow tells whether the rule's word starts after this text, rather than going on with a
// longer word.
func (r rule) mayFollow(before string) bool {
	last := before[len(before)-1]
	if r.isPath && last == '/' {
		return strings.HasSuffix(before, "://") // file:///mount/path
	}
	return !inName(last)
}

func inName(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '.' ||
		b == '-' || b == '_'
}

// expand replaces $(NAME) by the variable's value, as Kubernetes does: $$ is a $, and a name that
// is not set stays.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at == len(text)-1 {
			break
		}
		out.WriteString(text[:at])
		text = text[at:]
		if text[1] == '$' {
			out.WriteByte('$')
			text = text[2:]
			continue
		}
		name, value, found := reference(text, env)
		if !found {
			out.WriteByte('$')
			text = text[1:]
			continue
		}
		out.WriteString(value)
		text = text[len("$()")+len(name):]
	}
	return out.String() + text
}

// reference reads the $(NAME) at the start of the text.
func reference(text string, env map[string]string) (name, value string, found bool) {
	if text[1] != '(' {
		return "", "", false
	}
	end := strings.IndexByte(text, ')')
	if end < 0 {
		return "", "", false
	}
	name = text[2:end]
	value, found = env[name]
	return name, value, found
}
