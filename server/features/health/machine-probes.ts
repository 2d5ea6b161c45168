import type { MachineView, SeenMachine } from '../../machine/protocol.ts'
import type { Probe } from './probes.ts'

const DRIFT_MS = 2_000
const NOTICE_DAYS = 30
/** So often by itself, and it is no accident. */
const AGAIN_AND_AGAIN = 3
const ON_MACHINE = 'The page Machine says more.'

const good = (note?: string): Probe => ({ ok: true, ...(note === undefined ? {} : { note }) }) as Probe
const bad = (error: string, effect: string, remedy: string): Probe => ({ ok: false, error, effect, remedy })

function restartProbe({ updates }: MachineView): Probe {
  if (!updates.reboot_required) return good('No restart is needed.')
  const named = updates.reboot_for.slice(0, 5).join(', ')
  return bad(
    `The machine has to be restarted${named === '' ? '' : ` (${named})`}.`,
    'What was repaired there is not in use yet.',
    'Restart it on the page Machine, or let it restart in its maintenance window.',
  )
}

function clockProbe({ time }: MachineView): Probe {
  const { drift_ms: drift, servers, mark } = time
  const effect = 'Sign-in codes may fail, and times in logs and signatures may be wrong.'
  if (drift === null)
    return servers.length === 0
      ? bad('No time server is set.', effect, 'Name one on the page Machine.')
      : bad(
          'No time server answers, so how far the clock is off is unknown.',
          effect,
          'Name one on the page Machine that can be reached from here.',
        )
  const seconds = Math.round(Math.abs(drift) / 100) / 10
  if (Math.abs(drift) > DRIFT_MS)
    return bad(
      `The clock is ${seconds} seconds off.`,
      effect,
      'It is corrected slowly by itself; look at the time servers on the page Machine.',
    )
  if (mark === 'unknown') return bad('How the clock is kept could not be looked at.', effect, ON_MACHINE)
  return good(`${seconds} seconds off.`)
}

function certificateProbe({ certificate }: MachineView, now: Date): Probe {
  const { kind, ends_at: end, mark } = certificate
  const days = Math.floor((Date.parse(end) - now.getTime()) / 86_400_000)
  const effect = 'Once it has ended, clients and the console refuse this service.'
  if (Number.isNaN(days)) return bad('When the certificate ends is unknown.', effect, ON_MACHINE)
  const day = end.slice(0, 10)
  const remedy =
    kind === 'company'
      ? 'Ask for a new one, and put it in on the page Machine.'
      : 'It should have been renewed by itself; the page Machine says why it was not.'
  if (days < 0) return bad(`The certificate ended on ${day}.`, effect, remedy)
  if (days < NOTICE_DAYS) return bad(`The certificate ends on ${day}.`, effect, remedy)
  if (mark === 'bad' || mark === 'warning') return bad('The certificate is not as it should be.', effect, ON_MACHINE)
  return good(`Until ${day}.`)
}

function servicesProbe({ services }: MachineView): Probe {
  const names = (all: MachineView['services']): string => all.map(({ word }) => word).join(', ')
  const down = services.filter(({ mark }) => mark === 'bad')
  const remedy = 'Read their logs on the page Machine, and restart them there.'
  if (down.length > 0) return bad(`Down or failing: ${names(down)}.`, 'What these services do is not done.', remedy)
  const again = services.filter(({ restarts }) => restarts >= AGAIN_AND_AGAIN)
  if (again.length > 0)
    return bad(
      `Restarted by themselves again and again: ${names(again)}.`,
      'What they do is broken off each time.',
      remedy,
    )
  const unknown = services.filter(({ mark }) => mark === 'unknown')
  if (unknown.length === services.length && services.length > 0)
    return bad('The services could not be looked at.', 'Whether they run is unknown.', ON_MACHINE)
  return good(unknown.length === 0 ? undefined : `Not installed or unknown: ${names(unknown)}.`)
}

function disksProbe({ disks }: MachineView): Probe {
  const effect = 'A full disk stops uploads, and one of the system also updates.'
  const full = disks.filter(({ mark }) => mark === 'bad' || mark === 'warning')
  if (full.length > 0)
    return bad(
      `Little room is left: ${full.map(({ path, size, used }) => `${path} (${Math.round((used / size) * 100)} %)`).join(', ')}.`,
      effect,
      'Delete what nobody needs, or give the machine a larger disk.',
    )
  const unknown = disks.filter(({ mark }) => mark === 'unknown')
  if (unknown.length > 0)
    return bad(
      `How full they are could not be looked at: ${unknown.map(({ path }) => path).join(', ')}.`,
      effect,
      ON_MACHINE,
    )
  return good()
}

function updateProbe({ updates: { last } }: MachineView): Probe {
  if (last === null) return good('None was installed yet.')
  const remedy = 'The page Machine says at which step and why; ask for an update that repairs it.'
  if (last.state === 'went_back')
    return bad(`The update to ${last.version} went back.`, 'The release of before runs again.', remedy)
  if (last.state === 'failed')
    return bad(`The update to ${last.version} failed.`, 'The release of before runs on.', remedy)
  if (last.state === 'waiting') return good(`${last.version} waits for the maintenance window.`)
  return good(last.state === 'running' ? `${last.version} is being installed.` : `${last.version} is installed.`)
}

function findingsProbe({ findings }: MachineView): Probe {
  const wrong = findings.filter(({ mark }) => mark !== 'good')
  if (wrong.length === 0) return good()
  return bad(
    `Not as it should be: ${wrong
      .slice(0, 5)
      .map(({ what }) => what)
      .join(', ')}.`,
    'The machine is guarded less than it should be.',
    'The page Machine says the way out of each.',
  )
}

/** What the machine says of itself, as checks of the report. None where this is no appliance. */
export function machineProbes(seen: SeenMachine, now: Date): Readonly<Record<string, Probe>> {
  if (seen === undefined) return {}
  if ('why' in seen)
    return {
      machine: bad(
        "The machine's own program gave no answer.",
        'Network, clock, certificate, services and updates of the machine are unknown, and none of it can be changed here.',
        'At the machine: systemctl status gatehouse-machine.socket; journalctl -u gatehouse-machine says why.',
      ),
    }
  const { view } = seen
  return {
    machine_restart: restartProbe(view),
    machine_clock: clockProbe(view),
    machine_certificate: certificateProbe(view, now),
    machine_services: servicesProbe(view),
    machine_disks: disksProbe(view),
    machine_update: updateProbe(view),
    machine_guard: findingsProbe(view),
  }
}
