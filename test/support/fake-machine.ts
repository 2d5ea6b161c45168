import { FormatRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  VERBS,
  type Answered,
  type AskedWith,
  type MachineView,
  type UpdateView,
  type Verb,
} from '../../server/machine/protocol.ts'
import { goodMachine } from './machine-view.ts'

FormatRegistry.Set('date-time', text => !Number.isNaN(Date.parse(text)))

type Doing = { readonly [V in Verb]: (asked: AskedWith<V>) => Answered<V> }

/** A machine behind a real unix socket, as the daemon asks it. What it is asked changes `view` and nothing else. */
export interface FakeMachine {
  readonly socket: string
  /** The folder of the socket, with `state` beside it for MACHINE_SOCKET and STATE_DIRECTORY. */
  readonly env: { readonly MACHINE_SOCKET: string; readonly STATE_DIRECTORY: string }
  view: MachineView
  readonly asked: { readonly verb: Verb; readonly with: unknown }[]
  /** What it says before the next answers, line by line. */
  steps: readonly string[]
  /** Refuses the next call with these words. */
  refusal: string | undefined
  /** Answers every call with these bytes while it is set: the health report looks at the machine, too. */
  raw: string | undefined
  /** Answers are held back until this is resolved. */
  gate: Promise<void> | undefined
  /** What an update file is, by its name. */
  update: (file: string) => UpdateView
  close(): Promise<void>
}

export const someUpdate = (file: string): UpdateView => ({
  file,
  version: '1.4.3',
  made_at: '2026-11-17T08:00:00.000Z',
  size: 188 * 1024 ** 2,
  signed_by: 'Gatehouse release key, 51D0 9E3A',
  changes: [
    'fix: zypper accepts the key of a new distribution without a second refresh.',
    'security: OpenSSL 3.0.18, closes CVE-2025-9230.',
    'new: Tokens older than 400 days end.',
  ],
  is_older: false,
  migrates: true,
  checks: [
    { what: 'Backup', mark: 'good', said: 'of today 04:30' },
    { what: 'Room', mark: 'good', said: '33 GB free on System, needs 1 GB' },
    { what: 'Jobs', mark: 'warning', said: '2 jobs run; it waits for them' },
  ],
})

const GOES_BACK_MS = 90_000

function doingOf(machine: FakeMachine): Doing {
  const set = (more: Partial<MachineView>): void => {
    machine.view = { ...machine.view, ...more }
  }
  const network = (more: Partial<MachineView['network']>): void =>
    set({ network: { ...machine.view.network, ...more } })
  const certificate = (more: Partial<MachineView['certificate']>): MachineView['certificate'] => {
    set({ certificate: { ...machine.view.certificate, ...more } })
    return machine.view.certificate
  }
  const last = (
    more: Pick<NonNullable<MachineView['updates']['last']>, 'file' | 'state'> | null,
  ): MachineView['updates'] => {
    const at = new Date().toISOString()
    const one = more && { version: machine.update(more.file).version, step: 'Backup', said: '', at, ...more }
    set({ updates: { ...machine.view.updates, last: one } })
    return machine.view.updates
  }
  return {
    'machine.read': () => ({ ...machine.view, looked_at: new Date().toISOString() }),
    'network.set': ({ host_name, method, address, gateway, dns }) => {
      const goesBackAt = new Date(Date.now() + GOES_BACK_MS).toISOString()
      network({
        method,
        goes_back_at: goesBackAt,
        ...(host_name === undefined ? {} : { host_name }),
        ...(address === undefined ? {} : { addresses: [address] }),
        ...(gateway === undefined ? {} : { gateway }),
        ...(dns === undefined ? {} : { dns: dns.map(one => ({ address: one, mark: 'good', said: 'answers' })) }),
      })
      return { said: 'The network is changed.', goes_back_at: goesBackAt }
    },
    'network.keep': () => {
      network({ goes_back_at: null })
      return { said: 'The network stays as it is now.' }
    },
    'time.set': ({ zone, servers }) => {
      set({
        time: {
          ...machine.view.time,
          ...(zone === undefined ? {} : { zone }),
          ...(servers === undefined
            ? {}
            : { servers: servers.map(name => ({ name, is_used: false, mark: 'unknown', said: 'not asked yet' })) }),
        },
      })
      return { said: 'The time is set.' }
    },
    'certificate.put': () => certificate({ kind: 'company', issuer: 'Nordwerk CA' }),
    'certificate.own': () => certificate({ kind: 'own', issuer: 'Gatehouse appliance' }),
    'certificate.acme': ({ names }) => certificate({ kind: 'acme', issuer: 'Nordwerk ACME', names }),
    'service.restart': ({ unit }) => ({ said: `${unit} is restarted.` }),
    'update.look': ({ file }) => machine.update(file),
    'update.install': ({ file, when }) => last({ file, state: when === 'now' ? 'running' : 'waiting' }),
    'update.cancel': () => last(null),
    'update.back': () => last({ file: 'the release of before', state: 'running' }),
    'window.set': ({ window }) => {
      set({ window })
      return { said: 'The window is set.' }
    },
    'remote_log.set': ({ target }) => {
      set({ remote_log: target && { ...target, mark: 'unknown', said: 'nothing was sent yet' } })
      return { said: 'The log goes there.' }
    },
    'power.restart': () => ({ said: 'The machine restarts.' }),
    'power.off': () => ({ said: 'The machine is powered off.' }),
  }
}

async function answer(machine: FakeMachine, line: string, say: (line: object) => void): Promise<string | undefined> {
  const { ask, with: asked } = JSON.parse(line) as { ask: Verb; with: never }
  if (!Value.Check(VERBS[ask].with, asked)) throw new Error(`${ask} was asked with what it does not take: ${line}`)
  if (ask !== 'machine.read') machine.asked.push({ verb: ask, with: asked })
  if (ask !== 'machine.read') for (const step of machine.steps) say({ step })
  if (ask !== 'machine.read') await machine.gate
  const { raw, refusal } = machine
  if (raw !== undefined) return raw
  if (refusal !== undefined && ask !== 'machine.read') {
    machine.refusal = undefined
    say({ error: { code: 'refused', message: refusal } })
    return undefined
  }
  const given = doingOf(machine)[ask](asked)
  if (!Value.Check(VERBS[ask].answer, given)) throw new Error(`${ask} is answered by another shape`)
  say({ answer: given })
  return undefined
}

/** Starts one; its socket and its folder of state lie in a folder of their own. */
export async function startFakeMachine(): Promise<FakeMachine> {
  const folder = await mkdtemp(join(tmpdir(), 'machine-'))
  const socket = join(folder, 'socket')
  const open = new Set<Socket>()
  const server: Server = createServer(connection => {
    open.add(connection)
    connection.on('close', () => open.delete(connection))
    connection.on('error', () => undefined)
    let heard = ''
    connection.on('data', chunk => {
      heard += chunk.toString()
      if (!heard.includes('\n')) return
      const say = (line: object): void => void connection.write(`${JSON.stringify(line)}\n`)
      answer(machine, heard, say).then(
        raw => connection.end(raw ?? ''),
        (error: unknown) => {
          say({ error: { code: 'failed', message: String(error) } })
          connection.end()
        },
      )
    })
  })
  const machine: FakeMachine = {
    socket,
    env: { MACHINE_SOCKET: socket, STATE_DIRECTORY: join(folder, 'state') },
    view: goodMachine(),
    asked: [],
    steps: [],
    refusal: undefined,
    raw: undefined,
    gate: undefined,
    update: someUpdate,
    close: async () => {
      for (const connection of open) connection.destroy()
      await new Promise(resolve => server.close(resolve))
      await rm(folder, { recursive: true, force: true })
    },
  }
  await new Promise<void>(resolve => server.listen(socket, resolve))
  return machine
}
