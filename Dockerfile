# One image for the API, the workers, the sweeper and the migrations; docker-compose.yml and the Helm chart set their
# commands. The default model is exported while the image is built, so the image contains no torch:
#
#   docker build --tag memorybase:0.1.0 .
#   docker build --tag memorybase:0.1.0-full --target full .   with torch, to export other models when first used

FROM python:3.12-slim-bookworm AS base
RUN useradd --create-home --uid 10001 memorybase \
    && install --directory --owner memorybase --group memorybase /data
ENV MEMORYBASE_DATA_DIR=/data \
    MEMORYBASE_LOG_FORMAT=json \
    PYTHONUNBUFFERED=1
WORKDIR /data
EXPOSE 8000
CMD ["memorybase", "--help"]

FROM python:3.12-slim-bookworm AS wheel
WORKDIR /source
COPY constraints.txt ./
RUN pip install --no-cache-dir --constraint constraints.txt setuptools
COPY pyproject.toml MANIFEST.in README.md LICENSE ./
COPY memorybase memorybase
COPY worker worker
COPY api api
COPY migrations migrations
COPY clients/python/src clients/python/src
RUN pip wheel --no-cache-dir --no-deps --no-build-isolation --no-index --wheel-dir /wheels .

FROM base AS full
# torch's CPU build is 3 GB smaller than the default.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
# Dependencies first, because they seldom change: their layer stays cached when the code changes.
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY memorybase/__init__.py memorybase/__init__.py
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" --constraint constraints.txt '.[mcp]'
# Not in /app, whose memorybase has no modules.
WORKDIR /data
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --no-deps --force-reinstall /wheels/*.whl \
    && memorybase export-model /models
# Outside /data, where a volume of an earlier version or a mounted folder would hide it. Other models go to /data/models,
# and those of a hub beside them.
ENV MEMORYBASE_MODEL_IMAGE_DIR=/models \
    HF_HOME=/data/huggingface
USER 10001:10001
VOLUME /data

FROM base AS slim
COPY requirements-slim.txt /wheels/
# Without their dependencies, among which are torch and Chroma's server: the list has all that the services import.
RUN pip install --no-cache-dir --no-deps --requirement /wheels/requirements-slim.txt
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl
COPY --from=full /models /models
ENV MEMORYBASE_MODEL_DIR=/models
USER 10001:10001
VOLUME /data
