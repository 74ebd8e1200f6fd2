module github.com/podesta-dev/podesta/client

go 1.24.0
