{{- define "memorybase.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "memorybase.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "memorybase.labels" -}}
{{ include "memorybase.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "memorybase.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end }}

{{- /* A variable from a Secret: list NAME SECRET KEY. */ -}}
{{- define "memorybase.fromSecret" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
{{- end }}

{{- /* Variables of every process. */ -}}
{{- define "memorybase.env" -}}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_API_KEY" .Values.apiKey.existingSecret .Values.apiKey.key) }}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_DATABASE_URL" .Values.database.existingSecret .Values.database.key) }}
{{- with .Values.database.directKey }}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_DATABASE_DIRECT_URL" $.Values.database.existingSecret .) }}
{{- end }}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_REDIS_URL" .Values.redis.existingSecret .Values.redis.key) }}
{{- with .Values.broker.existingSecret }}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_BROKER_URL" . $.Values.broker.key) }}
{{- end }}
- name: MEMORYBASE_VECTOR_STORE
  value: {{ .Values.vectorStore }}
{{- with .Values.chroma.url }}
- name: MEMORYBASE_CHROMA_URL
  value: {{ . | quote }}
{{- end }}
{{- with .Values.chroma.existingSecret }}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_CHROMA_TOKEN" . $.Values.chroma.key) }}
{{- end }}
{{- with .Values.pgvector.existingSecret }}
{{ include "memorybase.fromSecret" (list "MEMORYBASE_PGVECTOR_URL" . $.Values.pgvector.key) }}
{{- end }}
- name: MEMORYBASE_DATA_DIR
  value: /data
- name: OMP_WAIT_POLICY
  value: PASSIVE
- name: OPENBLAS_NUM_THREADS
  value: "1"
- name: MALLOC_ARENA_MAX
  value: "2"
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  {{- /* Helm reads whole numbers as floats, and would write 1048576 as 1.048576e+06. */}}
  {{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}
  value: {{ $value | int64 | quote }}
  {{- else }}
  value: {{ $value | toString | quote }}
  {{- end }}
{{- end }}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Fields that every pod has: dict "root" $ "component" NAME. */ -}}
{{- define "memorybase.podMetadata" -}}
labels:
  {{- include "memorybase.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "memorybase.podFields" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  {{- range list "data" "tmp" }}
  - name: {{ . }}
    emptyDir:
      sizeLimit: {{ $.Values.scratch.sizeLimit }}
  {{- end }}
{{- end }}

{{- /* Pods of one component on different nodes, as far as possible: dict "root" $ "component" NAME. */ -}}
{{- define "memorybase.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "memorybase.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* Fields that every container has: dict "root" $ "resources" OBJECT. */ -}}
{{- define "memorybase.containerFields" -}}
image: {{ include "memorybase.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  {{- include "memorybase.env" .root | nindent 2 }}
resources:
  {{- toYaml .resources | nindent 2 }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
{{- end }}
