module github.com/podesta-dev/podesta/examples

go 1.26.0

require github.com/podesta-dev/podesta/client v0.0.0

require go.uber.org/goleak v1.3.0

require github.com/stretchr/testify v1.12.1 // indirect

replace github.com/podesta-dev/podesta/client => ../client
