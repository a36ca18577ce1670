"""Compares the resources of two files, as Helm and kustomize write them: python same-resources.py HELM KUSTOMIZE"""

import sys

import yaml

# What Helm adds to say whose a resource is.
of_helm = {"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}


def plain(value):
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key not in of_helm}
    return [plain(one) for one in value] if isinstance(value, list) else value


def resources(path):
    with open(path) as file:
        return {(one["kind"], one["metadata"]["name"]): plain(one) for one in yaml.safe_load_all(file) if one}


helm, kustomize = map(resources, sys.argv[1:])
different = [name for name in sorted({*helm, *kustomize}) if helm.get(name) != kustomize.get(name)]
for name in different:
    print(name, "\n  Helm:     ", helm.get(name), "\n  kustomize:", kustomize.get(name), file=sys.stderr)
print(f"{len(helm) - len(different)} of {len(kustomize)} resources are the same")
sys.exit(1 if different else 0)
