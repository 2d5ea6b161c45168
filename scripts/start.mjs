// `npm start`: prepares a fresh clone, then runs the daemon in the foreground. Plain JavaScript for Node 20.
import { join } from 'node:path'
import { DAEMON_ENV, DAEMON_FLAGS } from './daemon-flags.mjs'
import { buildUiIfNeeded, installIfNeeded, ROOT } from './prepare.mjs'
import { runNode } from './with-node.mjs'

const ready = installIfNeeded() && (await buildUiIfNeeded())
process.exitCode = ready
  ? await runNode([...DAEMON_FLAGS, join(ROOT, 'server', 'main.ts'), ...process.argv.slice(2)], {
      ...DAEMON_ENV,
      ...process.env,
    })
  : 1
