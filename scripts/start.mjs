// Prepares a fresh clone and prints what `start.sh` becomes, one word in a line: settings of the environment, then the
// daemon's command. Plain JavaScript for Node 20.
import { delimiter, dirname, join } from 'node:path'
import { DAEMON_ENV, DAEMON_FLAGS } from './daemon-flags.mjs'
import { buildUiIfNeeded, installIfNeeded, ROOT } from './prepare.mjs'
import { endWithParent, findNode, USUAL_PATH } from './with-node.mjs'

const ready = installIfNeeded() && (await buildUiIfNeeded())
// installed, so there is one
const node = ready ? findNode() : null
if (node === null) process.exit(1)
const { PATH = USUAL_PATH } = process.env
const settings = Object.entries({ ...DAEMON_ENV, ...process.env, PATH: dirname(node) + delimiter + PATH })
  .filter(([name]) => name === 'PATH' || name in DAEMON_ENV)
  .map(([name, value]) => `${name}=${value}`)
const daemon = endWithParent([node, ...DAEMON_FLAGS, join(ROOT, 'server', 'main.ts')])
console.log([...settings, ...daemon].join('\n'))
