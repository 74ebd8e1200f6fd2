# The images of Podesta. Each holds one static binary and has no base image, so that nothing needs
# to be pulled.
#
#   make docker                                                builds both images
#   make build && docker build --target agent --tag agent .    builds one of them
#
# `make build` writes the binaries to bin/; the images do not compile anything.

FROM scratch AS agent
COPY bin/agent /agent
USER 65532:65532
ENTRYPOINT ["/agent"]

FROM scratch AS manager
COPY bin/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
