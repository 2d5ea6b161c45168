import type { Principal } from '../../core/access.ts'
import type { RawRequest } from '../../core/contract.ts'
import { isoNow, type Clock } from '../../lib/clock.ts'
import type { Machine } from '../../machine/client.ts'
import type { Answered, AskedWith, CertificateView, Verb } from '../../machine/protocol.ts'
import type { Audit, AuditAction } from '../../record/audit.ts'
import type { Events } from '../../record/events.ts'
import { certificateWords, changesOf, type Changed } from './changes.ts'
import type { Look } from './look.ts'

/** A change of the machine that is under way. */
export interface AtWork {
  readonly verb: Verb
  readonly step: string | null
  readonly since: string
  readonly by: string
}

export interface ActDeps {
  readonly machine: Machine
  readonly look: Look
  readonly clock: Clock
  readonly audit: Pick<Audit, 'record'>
  readonly events: Pick<Events, 'emit'>
}

interface Asker {
  readonly who: Pick<Principal, 'name'>
  readonly raw: Pick<RawRequest, 'clientIp'>
}

export interface Act {
  /** Asks the machine for a change, with its lines in the audit log and the live events. */
  do<V extends Verb>(verb: V, asked: AskedWith<V>, asker: Asker): Promise<Answered<V>>
  atWork(): readonly AtWork[]
}

/** These may end the daemon before it can write anything: their line is written before. */
const TOLD_BEFORE: ReadonlySet<Verb> = new Set([
  'power.restart',
  'power.off',
  'service.restart',
  'update.install',
  'update.back',
])
const actionOf = (verb: Verb): AuditAction =>
  verb.startsWith('power.') ? 'MACHINE_POWER' : verb.startsWith('update.') ? 'MACHINE_UPDATE' : 'MACHINE_CHANGE'

/** Makes the way by which every change of the machine goes. */
export function createAct({ machine, look, clock, audit, events }: ActDeps): Act {
  const working = new Set<{ current: AtWork }>()
  const tell = (verb: Verb, state: 'begun' | 'step' | 'done' | 'failed'): void =>
    events.emit({ type: 'machine', at: isoNow(clock), data: { verb, state } })

  return {
    atWork: () => [...working].map(({ current }) => current),
    do: async (verb, asked, { who, raw }) => {
      const line = { action: actionOf(verb), user: who.name, ip: raw.clientIp }
      const succeeded = (changes: readonly Changed[]): Promise<void> =>
        audit.record({ ...line, result: 'SUCCESS', facts: { kind: 'appliance.changed', verb, changes } })
      const before = await look.view().catch(() => undefined)
      const changes = changesOf(verb, asked, before)
      const isThere = await machine.isThere()
      if (isThere && TOLD_BEFORE.has(verb)) await succeeded(changes)
      const work = { current: { verb, step: null, since: isoNow(clock), by: who.name } as AtWork }
      working.add(work)
      tell(verb, 'begun')
      try {
        const answer = await machine.ask(verb, asked, step => {
          work.current = { ...work.current, step }
          tell(verb, 'step')
        })
        const certificate = verb.startsWith('certificate.')
          ? [
              {
                key: 'certificate',
                from: before === undefined ? '(unknown)' : certificateWords(before.certificate),
                to: certificateWords(answer as CertificateView), // what these verbs answer
              },
            ]
          : []
        if (!TOLD_BEFORE.has(verb)) await succeeded([...changes, ...certificate])
        tell(verb, 'done')
        return answer
      } catch (error) {
        const why = error instanceof Error ? error.message : 'It failed.'
        if (isThere) await audit.record({ ...line, result: 'FAILURE', facts: { kind: 'appliance.failed', verb, why } })
        tell(verb, 'failed')
        throw error
      } finally {
        working.delete(work)
        look.forget()
      }
    },
  }
}
