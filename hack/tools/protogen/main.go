// Command protogen compiles .proto files with protoc-gen-go, so that no
// protoc has to be installed.
//
// Usage: protogen ROOT FILE.proto…
//
// The files are named relative to ROOT, and the generated ones are written beside them. The plugins
// are the versions that hack/tools/go.mod pins. A file may import the well-known types and files
// under ROOT.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

var plugins = []string{"protoc-gen-go"}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: protogen ROOT FILE.proto…")
		os.Exit(2)
	}
	if err := generate(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// generate compiles the files once and lets each plugin write its part.
func generate(ctx context.Context, root string, files []string) error {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(
			&protocompile.SourceResolver{ImportPaths: []string{root}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the generated code
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return err
	}

	request := &pluginpb.CodeGeneratorRequest{
		FileToGenerate: files,
		Parameter:      new("paths=source_relative"),
	}
	seen := map[string]bool{}
	for _, file := range compiled {
		request.ProtoFile = appendWithImports(request.ProtoFile, seen, file)
	}
	for _, plugin := range plugins {
		if err := run(ctx, root, plugin, request); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// appendWithImports puts what a file imports before the file, as plugins expect.
func appendWithImports(
	to []*descriptorpb.FileDescriptorProto, seen map[string]bool, file protoreflect.FileDescriptor,
) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return to
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		to = appendWithImports(to, seen, file.Imports().Get(i).FileDescriptor)
	}
	return append(to, protodesc.ToFileDescriptorProto(file))
}

// run hands the request to a plugin and writes the files that it answers with.
func run(ctx context.Context, root, plugin string, request *pluginpb.CodeGeneratorRequest) error {
	in, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(in), os.Stderr
	out, err := command.Output()
	if err != nil {
		return err
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out, response); err != nil {
		return err
	}
	if response.Error != nil {
		return errors.New(response.GetError())
	}
	for _, file := range response.File {
		if err := os.WriteFile(filepath.Join(root, file.GetName()), []byte(file.GetContent()),
			0o644); err != nil {
			return err
		}
	}
	return nil
}
