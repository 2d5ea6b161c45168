import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createClipboard, SECRET_MS } from './clipboard.ts'
import { ownAddresses, readAnnouncement } from './discovery.ts'
import { openKept } from './kept.ts'
import { redact } from './redact.ts'
import { memorySecrets, openSecrets } from './secrets.ts'
import { createSessions } from './sessions.ts'
import { FIRST_PLACE, fitToScreens } from './window-place.ts'

const log = { line: () => undefined }

describe('a kept file', () => {
  let folder: string
  const schema = Type.Object({ n: Type.Integer() })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gh-kept-'))
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))

  test('is for this person alone, and is there again', async () => {
    const path = join(folder, 'below', 'x.json')
    const kept = await openKept(path, schema, { n: 1 })
    expect(kept.value).toEqual({ n: 1 })
    await Promise.all([2, 3, 4].map(n => kept.set({ n })))
    expect((await openKept(path, schema, { n: 1 })).value).toEqual({ n: 4 })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })
  test.each(['', '{"n":', '{"n":"1"}', '[]', 'null', '{"n":1.5}'])('that is damaged is set aside: %s', async text => {
    const path = join(folder, 'x.json')
    await writeFile(path, text)
    const kept = await openKept(path, schema, { n: 7 })
    expect(kept.value).toEqual({ n: 7 })
    expect(kept.warning).toMatch(/was damaged/)
    expect(await readFile(`${path}.damaged`, 'utf8')).toBe(text)
  })
})

describe('the place for secrets', () => {
  const broken = (message: string) => ({ name: 'keychain', open: () => Promise.reject(new Error(message)) })
  test('is the first that works, and says why it is no safer one', async () => {
    const file = { ...memorySecrets(), place: 'encrypted_file' as const }
    const secrets = await openSecrets([broken('no D-Bus here'), { name: 'file', open: () => Promise.resolve(file) }])
    expect(secrets.place).toBe('encrypted_file')
    expect(secrets.said).toMatch(/file that this system encrypts.*no D-Bus here\./)
  })
  test('is memory where none works or gives back what was put in', async () => {
    const forgetful = { ...memorySecrets(), place: 'keychain' as const, find: () => Promise.resolve(undefined) }
    const secrets = await openSecrets([broken('locked'), { name: 'other', open: () => Promise.resolve(forgetful) }])
    expect(secrets.place).toBe('memory')
    expect(secrets.said).toMatch(/memory only.*locked\..*does not give back/)
  })
})

describe('a session', () => {
  const store = () => {
    const kept = new Map<string, string>()
    return {
      kept,
      secrets: {
        ...memorySecrets(),
        place: 'keychain' as const,
        find: (name: string) => Promise.resolve(kept.get(name)),
        set: (name: string, value: string) => Promise.resolve(void kept.set(name, value)),
        remove: (name: string) => Promise.resolve(void kept.delete(name)),
      },
    }
  }
  test('is kept where the person wants that, and taken away when not any more', async () => {
    const { kept, secrets } = store()
    const sessions = createSessions(secrets, log, true)
    await sessions.keep('a1', 'token-1')
    expect([...kept]).toEqual([['session.a1', 'token-1']])
    expect(await createSessions(secrets, log, true).find('a1')).toBe('token-1')
    await sessions.setStay(false, ['a1'])
    expect(kept.size).toBe(0)
    expect(await sessions.find('a1')).toBe('token-1')
    await sessions.keep('a1', 'token-2')
    expect(kept.size).toBe(0)
    await sessions.setStay(true, ['a1'])
    expect([...kept.values()]).toEqual(['token-2'])
  })
  test('that was ended is not found again, although the keychain fails', async () => {
    const { kept, secrets } = store()
    kept.set('session.a1', 'old')
    const sessions = createSessions({ ...secrets, remove: () => Promise.reject(new Error('locked')) }, log, true)
    expect(await sessions.find('a1')).toBe('old')
    await sessions.forget('a1')
    expect(await sessions.find('a1')).toBeUndefined()
  })
  test('that the server refused is forgotten only if it is still that one', async () => {
    const sessions = createSessions(store().secrets, log, true)
    await sessions.keep('a1', 'new')
    await sessions.forgetToken('a1', 'old')
    expect(await sessions.find('a1')).toBe('new')
    await sessions.forgetToken('a1', 'new')
    expect(await sessions.find('a1')).toBeUndefined()
  })
})

test('a secret leaves the clipboard after half a minute, unless something else was copied', async () => {
  const runs: { ms: number; run: () => void }[] = []
  let clip = ''
  const copy = createClipboard(
    {
      openExternal: () => Promise.resolve(),
      showInFolder: () => undefined,
      copy: text => {
        clip = text
      },
      copied: () => Promise.resolve(clip),
    },
    {
      now: () => new Date(),
      every: () => () => undefined,
      after: (ms, run) => {
        runs.push({ ms, run })
        return () => undefined
      },
    },
  )
  copy('plain', false)
  expect(runs).toEqual([])
  copy('secret', true)
  expect(runs[0]?.ms).toBe(SECRET_MS)
  runs[0]?.run()
  await Promise.resolve()
  expect(clip).toBe('')
  copy('secret', true)
  clip = 'something else'
  runs[1]?.run()
  await Promise.resolve()
  expect(clip).toBe('something else')
})

test.each([
  ['authorization: Bearer abc.def-ghi', 'authorization: Bearer …'],
  ['opened gatehouse://10.0.0.1?fp=AB&token=K7MQR2XD9HVT', 'opened gatehouse://10.0.0.1?fp=AB&token=…'],
  ['{"password":"harbour-Lantern-88","a":1}', '{"password":"…","a":1}'],
  ['got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln from', 'got … from'],
  ['two\nlines\u001b[2J', 'two lines[2J'],
])('a line of the log has no secret: %s', (line, redacted) => {
  expect(redact(line)).toBe(redacted)
})

describe('what is announced in the network', () => {
  const service = {
    name: 'gatehouse-02',
    host: 'gatehouse-02.local',
    port: 443,
    addresses: ['fe80::1', '10.20.0.31'],
    txt: { v: '1.4.2', setup: 'done' },
  }
  test('is an address to try', () => {
    expect(readAnnouncement(service)).toEqual({
      name: 'gatehouse-02',
      address: '10.20.0.31',
      version: '1.4.2',
      is_set_up: true,
    })
    expect(readAnnouncement({ ...service, port: 8443, addresses: [], txt: {} })).toEqual({
      name: 'gatehouse-02',
      address: 'gatehouse-02.local:8443',
      version: null,
      is_set_up: null,
    })
  })
  test('is asked for on each interface that is no loopback', () => {
    const of = (address: string, internal: boolean, family = 'IPv4') => ({ address, internal, family }) as never
    expect(
      ownAddresses({
        lo: [of('127.0.0.1', true)],
        eth0: [of('10.0.0.2', false), of('fe80::2', false, 'IPv6')],
        vpn: [of('10.8.0.2', false)],
      }),
    ).toEqual(['10.0.0.2', '10.8.0.2'])
  })
})

describe('the window', () => {
  const screen = { x: 0, y: 0, width: 1920, height: 1080 }
  test('comes back to where it was', () => {
    expect(fitToScreens({ ...FIRST_PLACE, x: 100, y: 50 }, [screen])).toEqual({
      x: 100,
      y: 50,
      width: 1280,
      height: 860,
    })
  })
  test('does not come back to a screen that is gone, nor too small', () => {
    expect(fitToScreens({ ...FIRST_PLACE, x: 2500, y: 50 }, [screen])).toEqual({ width: 1280, height: 860 })
    expect(fitToScreens({ ...FIRST_PLACE, x: 10, y: -500, width: 5, height: 5 }, [screen])).toEqual({
      width: 480,
      height: 480,
    })
  })
})
