{{- define "spotcheck.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "spotcheck.selector" -}}
app.kubernetes.io/name: spotcheck
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "spotcheck.labels" -}}
{{ include "spotcheck.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "spotcheck.image" -}}
{{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end -}}

{{/* Every pod of ours: an account without rights, and nothing to write to. */}}
{{- define "spotcheck.pod" -}}
serviceAccountName: {{ .Values.serviceAccountName }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.extraVolumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "spotcheck.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "spotcheck.container" -}}
image: {{ include "spotcheck.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
envFrom:
  - secretRef:
      name: {{ required "existingSecret is required: a Secret with DATABASE_URL and SECRET_KEYS" .Values.existingSecret }}
{{- with .Values.extraVolumeMounts }}
volumeMounts:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* HOST empty = every address of the pod, of both families. */}}
{{- define "spotcheck.env" -}}
- name: HOST
  value: ""
{{- range $name, $value := .Values.config }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/*
A Deployment of a role. Takes `root`, `role`, `name` (of the Deployment, behind the release's), `replicas` (null = left to an autoscaler),
`values` of the role, and `env` for it alone.
*/}}
{{- define "spotcheck.deployment" -}}
{{- $root := .root -}}
{{- $isWeb := eq .role "web" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "spotcheck.name" $root }}-{{ .name }}
  labels:
    {{- include "spotcheck.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .name }}
spec:
  {{- if not (kindIs "invalid" .replicas) }}
  replicas: {{ .replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "spotcheck.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .name }}
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        {{- include "spotcheck.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .name }}
        spotcheck/role: {{ .role }}
      {{- with $root.Values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "spotcheck.pod" $root | nindent 6 }}
      terminationGracePeriodSeconds: {{ if $isWeb }}{{ add $root.Values.web.stopGraceSeconds 20 }}{{ else }}45{{ end }}
      securityContext:
        {{- include "spotcheck.podSecurity" $root | nindent 8 }}
        {{- if and (eq .role "check") $root.Values.check.sysctls }}
        sysctls:
          {{- toYaml $root.Values.check.sysctls | nindent 10 }}
        {{- end }}
      {{- if $root.Values.affinity }}
      affinity:
        {{- toYaml $root.Values.affinity | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "spotcheck.selector" $root | nindent 14 }}
              app.kubernetes.io/component: {{ .name }}
      containers:
        - name: {{ .role }}
          args: [{{ .role }}]
          {{- include "spotcheck.container" $root | nindent 10 }}
          env:
            {{- include "spotcheck.env" $root | nindent 12 }}
            {{- if $isWeb }}
            - name: PORT
              value: "3000"
            - name: STOP_GRACE_SECONDS
              value: {{ $root.Values.web.stopGraceSeconds | quote }}
            {{- else }}
            - name: METRICS_PORT
              value: "9100"
            {{- end }}
            {{- range $name, $value := .env }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          ports:
            - name: {{ if $isWeb }}http{{ else }}metrics{{ end }}
              containerPort: {{ if $isWeb }}3000{{ else }}9100{{ end }}
          startupProbe:
            httpGet: { path: /healthz, port: {{ if $isWeb }}http{{ else }}metrics{{ end }} }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: {{ if $isWeb }}http{{ else }}metrics{{ end }} }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          # The API answers while only the queue is away, so that its pods stay in their Service then.
          readinessProbe:
            httpGet: { path: {{ if $isWeb }}/healthz{{ else }}/readyz{{ end }}, port: {{ if $isWeb }}http{{ else }}metrics{{ end }} }
            periodSeconds: 5
            timeoutSeconds: 5
          resources:
            {{- toYaml .values.resources | nindent 12 }}
{{- end -}}
