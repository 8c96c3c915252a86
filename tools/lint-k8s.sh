#!/usr/bin/env bash
# Renders every kustomization under k8s/ and checks the result twice, without a cluster and
# without the network: against the API's schema, and against the rules of this house.
set -euo pipefail
cd "$(dirname "$0")/.."

# The newest release whose schema kubectl-validate carries inside.
version=1.30

rendered=bin/k8s
rm -rf "$rendered" && mkdir -p "$rendered"
for folder in k8s/base k8s/overlays/*/; do
  [ -f "$folder/kustomization.yaml" ] || continue
  file="$rendered/$(basename "$folder").yaml"
  bin/tools/kustomize build "$folder" >"$file"
  bin/tools/manifests "$file"
done
bin/tools/kubectl-validate --version "$version" --local-crds tools/kube/crds "$rendered"
