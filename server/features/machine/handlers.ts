import { availableParallelism, freemem, hostname, totalmem, uptime } from 'node:os'
import type { Static } from '@sinclair/typebox'
import type { Handlers } from '../../core/contract.ts'
import { AppError, isRefusal } from '../../core/errors.ts'
import type { Layout } from '../../files/layout.ts'
import { space } from '../../lib/disk-space.ts'
import type { Machine } from '../../machine/client.ts'
import type { Audit } from '../../record/audit.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Act } from './act.ts'
import type { machine as contract, MachineReply } from './contract.ts'
import type { Look } from './look.ts'
import type { UpdateFiles } from './update-files.ts'

export interface MachineRouteDeps {
  readonly machine: Machine
  readonly look: Look
  readonly act: Act
  readonly files: UpdateFiles
  readonly audit: Pick<Audit, 'record'>
  readonly clock: Clock
  readonly layout: Pick<Layout, 'root'>
}

/** What this process can see of the machine without asking anybody. */
async function readHere({ clock, layout }: MachineRouteDeps): Promise<Static<typeof MachineReply>['here']> {
  const disk = await space(layout.root).catch(() => undefined)
  const { freeBytes, usedBytes } = disk ?? { freeBytes: 0, usedBytes: 0 }
  return {
    host_name: hostname(),
    cores: availableParallelism(),
    memory: totalmem(),
    memory_used: totalmem() - freemem(),
    up_since: new Date(clock.now().getTime() - Math.floor(uptime()) * 1000).toISOString(),
    disk: disk === undefined ? null : { path: layout.root, size: freeBytes + usedBytes, used: usedBytes },
  }
}

/** The file that waits for the window or is at work: nothing replaces it. */
async function fileInUse({ look }: MachineRouteDeps): Promise<string | undefined> {
  const { last } = (await look.view()).updates
  return last !== null && ['waiting', 'running'].includes(last.state) ? last.file : undefined
}

export const machineHandlers: Handlers<typeof contract, MachineRouteDeps> = {
  'GET /machine': async deps => {
    const { machine, look, act } = deps
    const here = await readHere(deps)
    const at_work = [...act.atWork()]
    if (!(await machine.isThere())) return { appliance: false, why: null, machine: null, at_work, here }
    try {
      return { appliance: true, why: null, machine: await look.view(), at_work, here }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { appliance: true, why: error.message, machine: null, at_work, here }
    }
  },
  'POST /machine/network': ({ act }, { body, ...asker }) => act.do('network.set', body, asker),
  'POST /machine/network/keep': ({ act }, asker) => act.do('network.keep', {}, asker),
  'POST /machine/time': ({ act }, { body, ...asker }) => act.do('time.set', body, asker),
  'POST /machine/certificate': ({ act }, { body, ...asker }) => act.do('certificate.put', body, asker),
  'POST /machine/certificate/own': ({ act }, asker) => act.do('certificate.own', {}, asker),
  'POST /machine/certificate/acme': ({ act }, { body, ...asker }) => act.do('certificate.acme', body, asker),
  'POST /machine/services/{unit}/restart': ({ act }, { params, ...asker }) =>
    act.do('service.restart', { unit: params.unit }, asker),
  'POST /machine/updates': async (deps, { query, who, raw }) => {
    const { machine, files, audit } = deps
    // asked first: where nobody can look at the file, it need not come
    if (!(await machine.isThere())) throw new AppError('machine_absent', {})
    const file = await files.receive(raw, query.filename, await fileInUse(deps))
    await audit.record({
      action: 'MACHINE_UPDATE',
      result: 'SUCCESS',
      user: who.name,
      ip: raw.clientIp,
      facts: { kind: 'appliance.file', file: file.name, size: file.size, sha256: file.sha256 },
    })
    try {
      return await machine.ask('update.look', { file: file.path })
    } catch (error) {
      // an altered one is of no use to anybody
      if (isRefusal(error, 'machine_refused')) await files.drop(file.path)
      throw error
    }
  },
  'POST /machine/updates/look': ({ machine }, { body }) => machine.ask('update.look', body),
  'POST /machine/updates/install': ({ act }, { body, ...asker }) => act.do('update.install', body, asker),
  'POST /machine/updates/cancel': ({ act }, asker) => act.do('update.cancel', {}, asker),
  'POST /machine/updates/back': ({ act }, asker) => act.do('update.back', {}, asker),
  'POST /machine/window': ({ act }, { body, ...asker }) => act.do('window.set', body, asker),
  'POST /machine/remote-log': ({ act }, { body, ...asker }) => act.do('remote_log.set', body, asker),
  'POST /machine/restart': ({ act }, asker) => act.do('power.restart', {}, asker),
  'POST /machine/power-off': ({ act }, asker) => act.do('power.off', {}, asker),
}
