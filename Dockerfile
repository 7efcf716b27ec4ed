# semisvm label, predict and the other commands, with everything compiled.
#
#   docker build -t semisvm .
#   docker run --rm -v "$PWD:/data" semisvm predict model.semisvm new.csv -o labels.csv
#   docker run --rm -it -v "$PWD:/data" -p 127.0.0.1:8000:8000 semisvm \
#     label mail.csv --label kind --host 0.0.0.0 --port 8000
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /dist .

FROM python:3.13-slim
COPY --from=build /dist /dist
RUN pip install --no-cache-dir "$(ls /dist/*.whl)[label,frames,parquet,excel]" && rm -r /dist
RUN useradd --create-home user
USER user
# numba's cache belongs to the user who runs the commands
ENV NUMBA_CACHE_DIR=/home/user/.cache/numba OMP_NUM_THREADS=1
RUN semisvm warm
WORKDIR /data
ENTRYPOINT ["semisvm"]
CMD ["--help"]
