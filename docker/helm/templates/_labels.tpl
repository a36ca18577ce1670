{{- define "reward-gateway.selector" -}}
app.kubernetes.io/name: reward-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "reward-gateway.labels" -}}
{{ include "reward-gateway.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
