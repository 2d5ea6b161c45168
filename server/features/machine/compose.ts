import { randomBytes } from 'node:crypto'
import { bind } from '../../core/contract.ts'
import { AppError } from '../../core/errors.ts'
import type { Feature } from '../../core/feature.ts'
import type { Layout } from '../../files/layout.ts'
import type { SpoolDeps } from '../../files/spool.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { createMachine } from '../../machine/client.ts'
import type { SeenMachine } from '../../machine/protocol.ts'
import type { Audit } from '../../record/audit.ts'
import type { Events } from '../../record/events.ts'
import { createAct } from './act.ts'
import { machine as contract } from './contract.ts'
import { machineHandlers } from './handlers.ts'
import { createLook } from './look.ts'
import { createUpdateFiles } from './update-files.ts'

export interface MachineNeeds {
  /** MACHINE_SOCKET. */
  readonly machineSocket: string
  readonly updateFolder: string
  readonly clock: Clock
  readonly layout: Pick<Layout, 'root'>
  readonly audit: Pick<Audit, 'record'>
  readonly events: Pick<Events, 'emit'>
  readonly threads: SpoolDeps['threads']
  readonly log: Pick<Log, 'warn'>
}

/** The machine that the service runs on, where it is the appliance. */
export function composeMachine(needs: MachineNeeds): Feature & { readonly seen: () => Promise<SeenMachine> } {
  const { machineSocket: socket, clock, log } = needs
  const machine = createMachine({ socket })
  const look = createLook({ machine, clock })
  const act = createAct({ ...needs, machine, look })
  const files = createUpdateFiles(needs.updateFolder, { random: randomBytes, threads: needs.threads })
  return {
    routes: bind(contract, machineHandlers, { ...needs, machine, look, act, files }),
    seen: async () => {
      if (!(await machine.isThere())) return undefined
      try {
        return { view: await look.view() }
      } catch (error) {
        return { why: error instanceof AppError ? error.message : 'It gave no answer.' }
      }
    },
    start: () =>
      void machine
        .isThere()
        .then(isThere => isThere && files.sweep())
        .catch((error: unknown) => log.warn({ err: error }, 'unfinished update files could not be removed')),
  }
}
