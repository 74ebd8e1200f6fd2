module github.com/podesta-dev/podesta/bench

go 1.26.0

require (
	github.com/podesta-dev/podesta v0.0.0
	github.com/podesta-dev/podesta/client v0.0.0
)

require github.com/spf13/pflag v1.0.10

require (
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/grpc v1.85.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	github.com/podesta-dev/podesta => ..
	github.com/podesta-dev/podesta/client => ../client
)
