import { machinePorts } from './ports.ts'
import { carryOn } from './update/carry-on.ts'
import { useWindow } from './update/window.ts'

const USAGE = `update.mjs go | window
  go      carries the update on that was begun, until it is done or the release before runs again
  window  does what waits for the maintenance window, when it is open
`
const DOES = { go: carryOn, window: useWindow }

const does = Object.entries(DOES).find(([name]) => name === process.argv[2])?.[1]
if (does === undefined) {
  process.stderr.write(USAGE)
  process.exitCode = 64
} else await does(machinePorts())
