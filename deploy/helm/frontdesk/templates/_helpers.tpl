{{- define "frontdesk.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- /* Quoted, since a release or a namespace may be named on or 2026. */}}
{{- define "frontdesk.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- /* A version may have a plus sign (SemVer, build metadata), and a label may not. */}}
{{- define "frontdesk.labels" -}}
{{ include "frontdesk.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "frontdesk.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "frontdesk.port" -}}
{{- if and .Values.tls.existingSecret (eq (int .Values.service.port) 80) }}443{{ else }}{{ .Values.service.port }}{{ end }}
{{- end }}

{{- /* What cannot work is refused here, rather than at two in the morning. */}}
{{- define "frontdesk.check" -}}
{{- if not .Values.store.existingSecret }}
{{- if .Values.autoscaling.enabled }}
{{- fail "autoscaling.enabled needs PostgreSQL: name its Secret in store.existingSecret, or turn autoscaling off" }}
{{- end }}
{{- if gt (int .Values.replicas) 1 }}
{{- fail "replicas above 1 need PostgreSQL: name its Secret in store.existingSecret, or set replicas to 1" }}
{{- end }}
{{- else if not .Values.keyset.existingSecret }}
{{- fail "with PostgreSQL, all replicas need one key set: name its Secret in keyset.existingSecret" }}
{{- end }}
{{- end }}
