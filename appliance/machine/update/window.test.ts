import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { testPorts, type Testing } from '../testing.ts'
import { readWindow, setWindow, useWindow, windowAt } from './window.ts'
import { readWork, writeWork } from './work.ts'

const SATURDAY = { days: [6], from: '22:00', to: '05:00', debian: true, restart: true }
let ports: Testing

beforeEach(async () => {
  ports = await testPorts()
})
afterEach(() => ports.close())

describe('a window', () => {
  test.each([
    // 2026-11-28 is a Saturday
    ['before it', '2026-11-28T21:59', undefined],
    ['at its beginning', '2026-11-28T22:00', '2026-11-28'],
    ['after midnight', '2026-11-29T04:59', '2026-11-28'],
    ['at its end', '2026-11-29T05:00', undefined],
    ['the night before', '2026-11-28T04:00', undefined],
    ['on another day', '2026-11-27T23:00', undefined],
  ])('%s', (_, at, day) => {
    expect(windowAt(SATURDAY, new Date(at))).toBe(day)
  })

  test('is kept, and taken away', async () => {
    await setWindow(ports, { window: SATURDAY })
    expect(await readWindow(ports)).toEqual(SATURDAY)
    expect(ports.ran).toEqual(['systemctl disable --now apt-daily-upgrade.timer'])
    await setWindow(ports, { window: null })
    expect(await readWindow(ports)).toBeNull()
    expect(ports.ran.at(-1)).toBe('systemctl enable --now apt-daily-upgrade.timer')
    await expect(setWindow(ports, { window: { ...SATURDAY, days: [] } })).rejects.toThrow('needs a day')
    await expect(setWindow(ports, { window: { ...SATURDAY, to: '22:00' } })).rejects.toThrow('same minute')
  })
})

describe('in the window', () => {
  const did = (text: string): number => ports.ran.filter(line => line.includes(text)).length
  const open = { ...SATURDAY, days: [0, 1, 2, 3, 4, 5, 6], from: '00:00', to: '23:59' }

  test('an update that waits begins, and nothing else is done', async () => {
    await setWindow(ports, { window: open })
    await writeWork(ports, {
      ...{ version: '1.1.0', release: 'new', previous: 'old', file: '', schema: '', bundle: null },
      ...{ step: 'waiting', tries: 0, said: '', when: 'window' },
    })
    await useWindow(ports)
    expect((await readWork(ports))?.step).toBe('laying')
    expect(existsSync(join(ports.root, '/var/lib/gatehouse-update/begun'))).toBe(true)
    expect(did('apt-get')).toBe(0)
    await useWindow(ports)
    expect(did('apt-get')).toBe(0)
  })

  test('updates of Debian come once in it, and it restarts where that is needed and allowed', async () => {
    await setWindow(ports, { window: open })
    await ports.put('/run/reboot-required', '')
    await useWindow(ports)
    expect([did('unattended-upgrade -v'), did('systemctl reboot')]).toEqual([1, 1])
    await setWindow(ports, { window: { ...open, restart: false } })
    await useWindow(ports)
    expect([did('unattended-upgrade -v'), did('systemctl reboot')]).toEqual([1, 1])
  })

  test('an archive that is not reached is said, and is not "nothing waits"', async () => {
    await setWindow(ports, { window: open })
    ports.said = { 'apt-get': { code: 100, out: '', err: 'Could not resolve' } }
    await useWindow(ports)
    expect(did('unattended-upgrade')).toBe(0)
    expect(ports.lines.at(-1)).toContain('nobody knows what waits')
  })

  test('outside of it nothing is done', async () => {
    await useWindow(ports)
    await setWindow(ports, { window: { ...open, from: '23:58', to: '23:59' } })
    ports.ran.length = 0
    await useWindow(ports)
    expect(ports.ran).toEqual([])
  })
})
