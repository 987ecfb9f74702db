# gpuos in an image, built from this checkout. The image has no compiler.
#
#   docker build -t gpuos .
#   docker run --rm gpuos                 # the demo, on the processors
#   docker run --rm --gpus all gpuos      # on a GPU
#
# On a GPU nothing of CUDA is needed in the image: NVIDIA's container toolkit
# puts the driver there, and NVRTC is a Python package. Who wants CUDA's own
# libraries beside it takes another base, of Debian 12 or Ubuntu 22.04 or newer:
#
#   docker build -t gpuos --build-arg BASE=nvidia/cuda:13.0.2-base-ubuntu24.04 .
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       g++ python3-dev python3-venv
COPY . /src
RUN python3 -m venv /opt/gpuos && /opt/gpuos/bin/pip install --no-cache-dir "/src[cuda]"

FROM ${BASE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
       libstdc++6 python3 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home user
COPY --from=build /opt/gpuos /opt/gpuos
ENV PATH=/opt/gpuos/bin:$PATH \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER user
CMD ["gpuos", "demo"]
