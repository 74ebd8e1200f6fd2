# The images of Podesta. Each holds one static binary and has no base image, so that nothing needs
# to be pulled.
#
#   make docker-build                                                    builds both images
#   make bin/image/agent bin/image/lead && docker build --target agent --tag agent .    builds one of them
#
# make writes the binaries to bin/image/; the images do not compile anything.

FROM scratch AS agent
COPY bin/image/agent bin/image/lead /
USER 65532:65532
ENTRYPOINT ["/agent"]

FROM scratch AS manager
COPY bin/image/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
