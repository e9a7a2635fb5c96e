FROM python:3.12-slim
ARG REQUIREMENTS=requirements-local.txt
ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /app
COPY requirements*.txt ./
RUN pip install -r requirements.txt && pip install -r ${REQUIREMENTS} \
    && if [ "${REQUIREMENTS}" = requirements-local.txt ]; then \
         pip install --no-deps --ignore-requires-python -r requirements-local-nodeps.txt; fi
COPY . .
RUN useradd --create-home --uid 1000 studio && mkdir /data && chown studio /data
USER studio
VOLUME /data
EXPOSE 8000
CMD ["gunicorn", "--bind", "0.0.0.0:8000", "--workers", "2", "--threads", "8", "--preload", "--no-control-socket", "eqstudio.wsgi"]
