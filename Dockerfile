# One image for the API, the worker, the sweeper and the migrations; docker-compose.yml sets their commands.
FROM python:3.12-slim

# torch is needed once, to export the embedding model; its CPU build is 3 GB smaller than the default.
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu

RUN useradd --create-home --uid 10001 memorybase \
    && install --directory --owner memorybase --group memorybase /data
WORKDIR /app

# Dependencies first, because they seldom change: their layer stays cached when the code changes.
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY memorybase/__init__.py memorybase/__init__.py
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" -c constraints.txt '.[mcp]'

COPY memorybase memorybase
COPY worker worker
COPY api api
COPY migrations migrations
COPY clients/python/src clients/python/src
RUN pip install --no-cache-dir --no-deps --force-reinstall .

USER memorybase
ENV MEMORYBASE_DATA_DIR=/data \
    MEMORYBASE_LOG_FORMAT=json \
    PYTHONUNBUFFERED=1
# Export the model into the image, so that a worker starts in a second and does not load torch.
RUN python -c "from memorybase.embedding import Embedders; from memorybase.settings import Settings; Embedders(Settings()).get()"
VOLUME /data
WORKDIR /data
EXPOSE 8000
CMD ["memorybase", "--help"]
