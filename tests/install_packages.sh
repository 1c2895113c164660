#!/usr/bin/env bash
# Debian packages that the tests run against, one a line in packages.txt; installed through apt when root.
set -euo pipefail
list="$(dirname "$0")/packages.txt"
missing=()
while read -r package; do
  [ -z "$package" ] && continue
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done < "$list"
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "error: the tests need these packages: ${missing[*]}" >&2
  echo "fix: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
