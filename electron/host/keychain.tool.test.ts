import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { keychain } from './keychain.ts'
import { memorySecrets, openSecrets } from '../core/secrets.ts'

const has = (program: string): boolean => spawnSync('which', [program]).status === 0
const missing = ['dbus-run-session', 'gnome-keyring-daemon'].filter(program => !has(program))

/** Opens the keychain in a session of its own, so that nobody's own is written to. */
const PROGRAM = `
const { keychain } = await import(${JSON.stringify(new URL('./keychain.ts', import.meta.url).href)})
const { openSecrets } = await import(${JSON.stringify(new URL('../core/secrets.ts', import.meta.url).href)})
const secrets = await openSecrets([keychain])
await secrets.set('session.a0123456789ab', 'a token')
const found = await secrets.find('session.a0123456789ab')
await secrets.remove('session.a0123456789ab')
console.log(JSON.stringify({ place: secrets.place, said: secrets.said ?? null, found, gone: (await secrets.find('session.a0123456789ab')) ?? null }))
`

test.skipIf(missing.length > 0)(
  `the keychain of a desktop keeps a session, needs ${missing.join(', ') || 'nothing more'}`,
  () => {
    const script = `echo -n word | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1; exec "$0" --input-type=module -e "$1"`
    const ran = spawnSync('dbus-run-session', ['--', 'bash', '-c', script, process.execPath, PROGRAM], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect(JSON.parse(ran.stdout), ran.stderr).toEqual({ place: 'keychain', said: null, found: 'a token', gone: null })
  },
)

test('without a session bus it fails at once, and memory takes its place with the reason', async () => {
  const before = { bus: process.env.DBUS_SESSION_BUS_ADDRESS, display: process.env.DISPLAY }
  process.env.DBUS_SESSION_BUS_ADDRESS = 'unix:path=/nonexistent'
  delete process.env.DISPLAY
  try {
    const secrets = await openSecrets([keychain])
    expect(secrets.place).toBe('memory')
    expect(secrets.said).toMatch(/kept in memory only.*keychain: /)
    await secrets.set('x', 'y')
    expect(await secrets.find('x')).toBe('y')
    expect(memorySecrets().place).toBe('memory')
  } finally {
    if (before.bus === undefined) delete process.env.DBUS_SESSION_BUS_ADDRESS
    else process.env.DBUS_SESSION_BUS_ADDRESS = before.bus
    if (before.display !== undefined) process.env.DISPLAY = before.display
  }
})
