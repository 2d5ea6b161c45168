import { once } from 'node:events'
import { machinePorts } from './ports.ts'
import { createMachineServer } from './serve.ts'
import { watchPending } from './verbs/network.ts'
import { DOING, READING } from './verbs/table.ts'

const USAGE = `The program that does what the daemon may ask of this machine. systemd starts it with its socket
(gatehouse-machine.socket); main.mjs PATH listens there, for tests.
`
// the first that systemd passes on
const FIRST_FD = 3

async function main(path: string | undefined): Promise<number> {
  const isPassed = process.env['LISTEN_FDS'] === '1' && process.env['LISTEN_PID'] === String(process.pid)
  if (path === undefined && !isPassed) {
    process.stderr.write(USAGE)
    return 64
  }
  const ports = machinePorts()
  const server = createMachineServer({ ports, doing: DOING, reading: READING })
  server.listen(path ?? { fd: FIRST_FD })
  await once(server, 'listening')
  ports.log('ready')
  // a change of the network that nobody kept, from before this start
  await watchPending(ports).catch((error: unknown) => ports.log(`network: ${String(error)}`))
  return 0
}

process.exitCode = await main(process.argv[2])
