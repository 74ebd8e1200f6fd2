# The images of Podesta: a static binary each, on no base image, so that nothing has to be pulled.
#
#   make docker                                            both images
#   make build && docker build --target agent --tag agent .    one of them
#
# The binaries come from bin/, where `make build` puts them; nothing is compiled in here.

FROM scratch AS agent
COPY bin/agent /agent
USER 65532:65532
ENTRYPOINT ["/agent"]

FROM scratch AS manager
COPY bin/manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
