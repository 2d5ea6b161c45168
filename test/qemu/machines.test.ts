import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { ownVersion } from '../../appliance/bundle.ts'
import { sha256Of } from '../../server/lib/digest-file.ts'
import type { MachineView } from '../../server/machine/protocol.ts'
import { ADMIN, setUp, signIn, type Session } from './support/admin.ts'
import { laterUpdate, overlay, stickOf } from './support/disks.ts'
import { publish, whatIsWrong } from './support/kept.ts'
import { powerOn, type Machine, type Power, type Seen } from './support/machine.ts'
import type { Answer, CallTo } from './support/wire.ts'

const { lacking, qcow2, bundle, key, work } = inject('image')
const ADA = { username: 'ada', password: 'Correct-horse-8' }
const PASSPHRASE = 'Eleven-blue-herons'
const LATER = '99.0.0'
const SAVED = 'prepared'

let running: Machine | undefined
/** One machine at a time: it ends with its test. */
async function power(options: Power): Promise<Machine> {
  running = await powerOn(options)
  return running
}
const sayFindings = (all: MachineView['findings']): string =>
  all.map(({ what, mark, said }) => `${mark} ${what}: ${said}`).join(' | ')
const tell = (line: string): void => console.log(`    ${line}`)

describe.skipIf(lacking !== undefined)(`machines from one image (${lacking ?? 'QEMU'})`, () => {
  const bios = join(work, 'bios.qcow2')
  const archive = join(work, 'archive')
  let first: Seen
  let before: MachineView['findings'] | undefined

  afterEach(async () => {
    await running?.cut()
    running = undefined
  })
  /** Brings an update, which nobody installs yet, and saves the machine as it runs. */
  async function prepareUpdate({ monitor }: Machine, { must }: Session): Promise<void> {
    const update = await laterUpdate({ bundle, key, work }, LATER)
    const query = `filename=gatehouse-${LATER}-linux-x64.gatehouse-update`
    const headers = { 'Content-Type': 'application/octet-stream' }
    const { body } = await must(200, 'POST', `/machine/updates?${query}`, { bytes: await readFile(update), headers })
    expect(body).toMatchObject({ version: LATER, is_older: false })
    await writeFile(join(work, 'update.file'), String(body.file))
    expect(await monitor.ask('human-monitor-command', { 'command-line': `savevm ${SAVED}` })).toBe('')
  }

  test('starts by BIOS: its screen and the wire agree, and its backup comes out', async () => {
    const machine = await power({ disk: await overlay(qcow2, bios) })
    first = await machine.seen()
    expect(first.onScreen).toBe(first.onWire)
    const call = await machine.ready()
    tell(`BIOS: from power to health ${machine.seconds()} s`)
    const session = await setUp(call, first.token)
    const { must } = session
    // no signatures come without a network, and what is not looked at is held
    const settings = { validation: { clamav_scan: false, grype_scan: false }, backup: { passphrase: PASSPHRASE } }
    await must(200, 'PATCH', '/settings/', { json: settings })
    await must(200, 'POST', '/distributions/init', { json: { codename: 'bookworm' } })
    await must(201, 'POST', '/auth/users', { json: { ...ADA, role: 'maintainer', email: 'ada@example.com' } })
    await publish(session, 'hello')
    const name = String((await must(201, 'POST', '/backup/')).body.file_name)
    await writeFile(archive, (await must(200, 'GET', `/backup/${name}`)).bytes)
    await writeFile(`${archive}.name`, name)
    before = (await session.machine()).findings
    tell(`gatehouse-check: ${sayFindings(before)}`)
    if (key !== '') await prepareUpdate(machine, session)
  })

  test('starts by UEFI as another machine, and is the first one again by a stick plugged in while it runs', async () => {
    const machine = await power({ disk: await overlay(qcow2, join(work, 'uefi.qcow2')), firmware: 'uefi' })
    const seen = await machine.seen()
    expect(seen.onScreen).toBe(seen.onWire)
    expect([seen.token === first.token, seen.onWire === first.onWire]).toEqual([false, false])
    const call = await machine.ready()
    tell(`UEFI: from power to health ${machine.seconds()} s`)
    const { must, machine: look } = await setUp(call, seen.token)
    expect((await look()).media).toEqual([])

    const name = await readFile(`${archive}.name`, 'utf8')
    const stick = await stickOf(join(work, 'stick'), 'GATEHOUSE', { [name]: archive })
    const bytes = await sha256Of(stick)
    const file = { driver: 'file', filename: stick }
    await machine.monitor.ask('blockdev-add', { 'driver': 'raw', 'node-name': 'stick', file })
    const plugged = machine.seconds()
    await machine.monitor.ask('device_add', { driver: 'usb-storage', drive: 'stick', id: 'stick', removable: true })
    const listed = await machine.until('backup of the stick', async () => {
      const { backups } = (await must(200, 'GET', '/backup/')).body as { backups: { file_name: string }[] }
      return backups[0]
    })
    tell(`The stick's backup is listed ${machine.seconds() - plugged} s after it was plugged in`)
    expect(listed).toMatchObject({ place: 'medium', address: `GATEHOUSE:/${name}` })
    const json = { file_name: listed.file_name, passphrase: PASSPHRASE }
    const asked = machine.seconds()
    await must(202, 'POST', '/backup/restore', { json })
    const ada = await machine.until('account of the backup', () => signIn(call, ADA))
    tell(`It is restored ${machine.seconds() - asked} s after it was asked for`)
    expect((await ada.must(200, 'GET', '/packages/')).bytes.toString()).toContain('"hello"')
    // what belongs to the machine stays
    expect((await machine.seen()).onWire).toBe(seen.onWire)

    await machine.monitor.ask('device_del', { id: 'stick' })
    const admin = await signIn(call, ADMIN)
    await machine.until('view without the stick', async () => (await admin.machine()).media.length === 0)
    expect(await sha256Of(stick)).toBe(bytes)
  })

  test('starts in 2020 without a network, says so, opens its menu, and is reached when a cable comes', async () => {
    const disk = await overlay(qcow2, join(work, 'alone.qcow2'))
    const machine = await power({ disk, cable: 'none', rtc: '2020-01-01T00:00:00' })
    await machine.until('service on the screen', () => /Service {6}runs/.test(machine.serial()))
    expect(machine.serial()).toContain('no address yet: is the network cable in, and is there DHCP?')
    tell(`Without a network: from power to "runs" ${machine.seconds()} s`)
    machine.type('\n')
    await machine.until('menu', () => /\d {2}Restore a backup[^]*Number, or Enter/.test(machine.serial()))
    machine.type('\n')
    await machine.connect()
    await machine.until('address on the screen', () => /https:\/\/10\.0\.2\.15/.test(machine.serial()))
    const seen = await machine.seen()
    expect(seen.onScreen).toBe(seen.onWire)
    // what it made in 2020 is checked by the clock of this computer
    const call = await machine.ready()
    const { date } = await call('GET', '/health/ready')
    tell(`Its clock says ${date.toISOString()}`)
    expect(date.getFullYear()).toBeGreaterThan(2025)
    // and nobody can say that its own is right
    const { machine: look } = await setUp(call, seen.token)
    expect((await look()).time.mark).not.toBe('good')
  })

  describe.skipIf(key === '')(
    `power cuts in a signed update (${key === '' ? 'needs --key FILE of its vendor' : LATER})`,
    () => {
      const written = async ({ monitor }: Machine): Promise<number> => {
        const [disk] = (await monitor.ask('query-blockstats')) as { stats: { wr_bytes: number } }[]
        return disk?.stats.wr_bytes ?? 0
      }
      const isReady = async (call: CallTo): Promise<boolean> => (await call('GET', '/health/ready')).status === 200
      /** Each ends at its moment of an update that was asked for. */
      const MOMENTS: readonly (readonly [
        string,
        (machine: Machine, call: CallTo, asked: Promise<Answer>) => Promise<unknown>,
      ])[] = [
        [
          'it is verified and copied',
          async (machine, _call, asked) => {
            const start = await written(machine)
            await Promise.race([asked, machine.until('copy', async () => (await written(machine)) > start + 8e6)])
          },
        ],
        ['it is unpacked', async (_machine, _call, asked) => asked],
        [
          'the service stands still and its database is copied',
          async (machine, call, asked) => {
            await asked
            await machine.until('standstill', async () => !(await isReady(call)))
          },
        ],
        [
          'its files are laid',
          async (machine, call, asked) => {
            await asked
            await machine.until('new page', async () =>
              (await call('GET', '/', { headers: { Accept: 'text/html' } })).bytes.toString().includes(LATER),
            )
          },
        ],
        [
          'it is proved',
          async (machine, call, asked) => {
            await asked
            await machine.until('standstill', async () => !(await isReady(call)))
            await machine.until('new release', () => isReady(call))
          },
        ],
      ]

      test.each(MOMENTS)('one while %s leaves a machine that starts and is well', async (moment, reach) => {
        const disk = join(work, 'cut.qcow2')
        await cp(bios, disk)
        const machine = await power({ disk, from: SAVED })
        const call = await machine.ready()
        const session = await signIn(call)
        // taken in just before, so it has to be there after
        await publish(session, 'late')
        const json = { file: await readFile(join(work, 'update.file'), 'utf8'), when: 'now' }
        const asked = session.must(200, 'POST', '/machine/updates/install', { json })
        asked.catch(() => undefined)
        await reach(machine, call, asked)
        await machine.cut()

        const again = await power({ disk })
        const after = await again.ready()
        tell(`cut while ${moment}: from power to health ${again.seconds()} s`)
        const ended = await again.until('end of the update', async () => {
          const view = await (await signIn(after)).machine()
          return view.updates.last?.state !== 'running' && view
        })
        const { last, releases } = ended.updates
        tell(`cut while ${moment}: ${last === null ? 'nothing had begun' : last.said} (${again.seconds()} s)`)
        expect(last === null || last.state === 'done').toBe(true)
        const runs = releases.find(({ is_current }) => is_current)?.version
        expect(runs).toBe(last === null ? ownVersion() : LATER)
        expect((await after('GET', '/health')).body).toMatchObject({ version: runs })
        expect(await whatIsWrong(again, after, ['hello', 'late'])).toEqual([])
        tell(`cut while ${moment}: ${runs} runs, and its packages, tree and audit log are whole`)
        expect(ended.findings.map(({ what }) => what).sort(), sayFindings(ended.findings)).toEqual(
          before?.map(({ what }) => what).sort(),
        )
      })
    },
  )
})
