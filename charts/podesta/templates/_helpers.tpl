{{/* Names do not follow the release's: there is one Podesta in a cluster, and agents know it by these names. */}}

{{- define "podesta.labels" -}}
{{- $own := dict "app.kubernetes.io/name" "podesta" "app.kubernetes.io/part-of" "podesta" "app.kubernetes.io/managed-by" .Release.Service }}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_")) }}
{{- merge $own .Values.commonLabels | toYaml }}
{{- end }}

{{- define "podesta.selector" -}}
app.kubernetes.io/name: podesta
app.kubernetes.io/component: manager
{{- end }}

{{/* The image of a program: REPOSITORY:TAG or REPOSITORY@DIGEST. */}}
{{- define "podesta.image" -}}
{{- $root := .root }}
{{- $name := .name }}
{{- with .image -}}
{{ .repository | default (printf "%s/%s" $root.Values.images $name) }}
{{- if .digest }}@{{ .digest }}{{ else }}:{{ coalesce .tag $root.Values.tag $root.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{- define "podesta.managerImage" -}}
{{ include "podesta.image" (dict "root" . "name" "manager" "image" .Values.image) }}
{{- end }}

{{- define "podesta.agentImage" -}}
{{ include "podesta.image" (dict "root" . "name" "agent" "image" .Values.inject.image) }}
{{- end }}

{{/* Whether pods get the agent when they are made: not empty if they do. */}}
{{- define "podesta.injects" -}}
{{- $enabled := .Values.inject.enabled }}
{{- if and $enabled (or (ne (toString $enabled) "auto") (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version)) }}yes{{ end }}
{{- end }}

{{/* The namespaces that the manager is restricted to, its own among them, as a list in JSON; [] if it is not restricted. */}}
{{- define "podesta.namespaces" -}}
{{- if .Values.namespaces }}{{ append .Values.namespaces .Release.Namespace | uniq | sortAlpha | toJson }}{{ else }}[]{{ end }}
{{- end }}

{{/* Annotations, if there are any. */}}
{{- define "podesta.annotations" -}}
{{- with . }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What the values say of a monitor's endpoint. */}}
{{- define "podesta.scraped" -}}
{{- with .interval }}
interval: {{ . }}
{{- end }}
{{- with .scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
{{- with .metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The documents of a file that config/ shares with the chart, with the release's labels, namespace and image.
     namespace puts them there; text is used instead of the file's. */}}
{{- define "podesta.shared" -}}
{{- $root := .root }}
{{- $namespace := .namespace }}
{{- $restricted := include "podesta.namespaces" $root | fromJsonArray }}
{{- $text := .text | default ($root.Files.Get (.file | default "")) | replace "podesta-system" $root.Release.Namespace }}
{{- $text = $text | replace "ghcr.io/podesta-dev/agent:latest" (include "podesta.agentImage" $root) }}
{{- range $document := regexSplit "(?m)^---$" $text -1 }}
{{- with fromYaml $document }}
{{- $_ := set .metadata "labels" (merge (.metadata.labels | default dict) (include "podesta.labels" $root | fromYaml)) }}
{{- if $namespace }}
{{- $_ := set .metadata "namespace" $namespace }}
{{- end }}
{{- if and (eq .kind "CustomResourceDefinition") $root.Values.crds.keep }}
{{- $_ := set .metadata "annotations" (merge (dict "helm.sh/resource-policy" "keep") (.metadata.annotations | default dict)) }}
{{- end }}
{{- if and $restricted (hasSuffix "AdmissionPolicy" .kind) (eq .metadata.name "podesta-inject") }}
{{- $in := dict "key" "kubernetes.io/metadata.name" "operator" "In" "values" $restricted }}
{{- $selector := .spec.matchConstraints.namespaceSelector }}
{{- $_ := set $selector "matchExpressions" (append $selector.matchExpressions $in) }}
{{- end }}
{{- if and $restricted (eq .kind "ClusterRole") (eq .metadata.name "podesta-manager") }}
{{- include "podesta.roles" (dict "role" . "namespaces" $restricted "account" $root.Release.Namespace) }}
{{- else }}
---
{{ toYaml . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The manager's ClusterRole for some namespaces: a Role and a RoleBinding in each, and in the ClusterRole what
     no Role can give. */}}
{{- define "podesta.roles" -}}
{{- $cluster := list }}
{{- $namespaced := list }}
{{- range .role.rules }}
{{- if has "tokenreviews" .resources }}{{ $cluster = append $cluster . }}{{ else }}{{ $namespaced = append $namespaced . }}{{ end }}
{{- end }}
---
{{ merge (dict "rules" $cluster) (omit .role "rules") | toYaml }}
{{- range $namespace := .namespaces }}
{{- $metadata := dict "name" "podesta-groups" "namespace" $namespace "labels" $.role.metadata.labels }}
---
{{ dict "apiVersion" $.role.apiVersion "kind" "Role" "metadata" $metadata "rules" $namespaced | toYaml }}
---
{{ dict "apiVersion" $.role.apiVersion "kind" "RoleBinding" "metadata" $metadata | toYaml }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: podesta-groups
subjects:
- kind: ServiceAccount
  name: podesta-manager
  namespace: {{ $.account }}
{{- end }}
{{- end }}

{{/* The resources of the values as the mutating policy writes them. */}}
{{- define "podesta.celResources" -}}
{{- $parts := list }}
{{- range $kind := list "requests" "limits" }}
{{- $items := list }}
{{- range $name, $quantity := index $.Values.inject.resources $kind }}
{{- $items = append $items (printf "'%s': '%s'" $name (toString $quantity)) }}
{{- end }}
{{- if $items }}
{{- $parts = append $parts (printf "%s: {%s}" $kind (join ", " $items)) }}
{{- end }}
{{- end -}}
Object.spec.initContainers.resources{ {{- join ", " $parts -}} }
{{- end }}
