{{/* Names do not follow the release's: there is one Podesta in a cluster, and agents know it by these names. */}}

{{- define "podesta.labels" -}}
app.kubernetes.io/name: podesta
app.kubernetes.io/part-of: podesta
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "podesta.selector" -}}
app.kubernetes.io/name: podesta
app.kubernetes.io/component: manager
{{- end }}

{{/* An image of the values; the agent's has the manager's registry unless it has one of its own. */}}
{{- define "podesta.image" -}}
{{- $root := .root }}
{{- with .image -}}
{{ .registry | default $root.Values.image.registry }}/{{ .repository }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $root.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Whether pods get the agent when they are made: not empty if they do. */}}
{{- define "podesta.injects" -}}
{{- $enabled := .Values.inject.enabled }}
{{- if and $enabled (or (ne (toString $enabled) "auto") (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version)) }}yes{{ end }}
{{- end }}

{{/* The documents of a file that config/ shares with the chart, with the release's labels, namespace and image. */}}
{{- define "podesta.shared" -}}
{{- $root := .root }}
{{- $text := $root.Files.Get .file | replace "podesta-system" $root.Release.Namespace }}
{{- $text = $text | replace "ghcr.io/podesta-dev/agent:latest" (include "podesta.image" (dict "root" $root "image" $root.Values.inject.image)) }}
{{- range $document := regexSplit "(?m)^---$" $text -1 }}
{{- with fromYaml $document }}
{{- $_ := set .metadata "labels" (merge (.metadata.labels | default dict) (include "podesta.labels" $root | fromYaml)) }}
{{- if eq .kind "CustomResourceDefinition" }}
{{- $_ := set .metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") (.metadata.annotations | default dict)) }}
{{- end }}
---
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
