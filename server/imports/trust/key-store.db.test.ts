import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestDb, type TestDb } from '../../../test/support/postgres.ts'
import { createApkKey, createVendorKey } from '../../../test/support/upstream/key.ts'
import { createKeyStore, type KeyStore } from './key-store.ts'
import { warnOfKeys } from './key-warnings.ts'
import { VENDOR_KEYS } from './vendors.ts'

const DAY = 86_400_000
let test_: TestDb
let keys: KeyStore
let now = new Date('2026-11-21T12:00:00Z')

beforeAll(async () => {
  test_ = await createTestDb()
  keys = createKeyStore({ db: test_.db, clock: { now: () => now } })
})
afterAll(() => test_.close())
beforeEach(async () => {
  now = new Date('2026-11-21T12:00:00Z')
  await test_.db.query('delete from import_key')
})

const add = (text: string, more: { label?: string; keyName?: string } = {}) =>
  test_.db.tx(tx => keys.add(tx, { text, by: 'ada', ...more }))
const remove = (name: string) => test_.db.tx(tx => keys.remove(tx, name))
const accept = (name: string, until: Date | undefined) => test_.db.tx(tx => keys.accept(tx, name, until))
const names = async (): Promise<string[]> => (await keys.list()).map(({ name }) => name)
const said = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => (error as { code: string }).code)

/** Whether a document that was signed on a day counts for a source that names this key. */
async function counts(name: string, document: Buffer): Promise<boolean> {
  return 'by' in (await (await keys.keysFor({ keys: [name] })).clearsigned(document))
}

describe('the keys that come with the product', () => {
  test('are all there after the start, once', async () => {
    await keys.settle()
    await keys.settle()
    const rows = Object.values(VENDOR_KEYS).map(({ name }) => name)
    expect((await names()).sort()).toEqual([...rows].sort())
    expect((await keys.list()).every(({ builtin }) => builtin)).toBe(true)
  })

  test('none has ended, and those that will are named 60 days before', async () => {
    await keys.settle()
    expect(warnOfKeys(await keys.list(), now)).toEqual([
      `The key of SUSE packages in openSUSE Leap (${VENDOR_KEYS.leapSle.name}) ends on 2027-01-18. Add its owner's renewed copy before.`,
    ])
  })

  test('that an admin took out do not come back', async () => {
    await keys.settle()
    await remove(VENDOR_KEYS.rocky9.name)
    await keys.settle()
    expect(await names()).not.toContain(VENDOR_KEYS.rocky9.name)
    expect(await said(remove(VENDOR_KEYS.rocky9.name))).toBe('import_key_not_found')
  })
})

describe('keys of an admin', () => {
  test('each block of a file is one, and counts only for a source that names it', async () => {
    const [one, two] = [await createVendorKey(), await createVendorKey({ type: 'ed25519' })]
    const broken = '-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC KEY BLOCK-----\n'
    await add(`${broken}\nwords\n${one.publicKey}\n${two.publicKey}`)
    expect((await names()).sort()).toEqual([one.fingerprint, two.fingerprint].sort())
    const document = await two.clearsign('text', now)
    expect(await counts(two.fingerprint, document)).toBe(true)
    expect(await counts(one.fingerprint, document)).toBe(false)
    await remove(two.fingerprint)
    expect(await counts(two.fingerprint, document)).toBe(false)
  })

  test('past its end a key counts no more, but until the day that an admin set', async () => {
    const key = await createVendorKey({ at: new Date(now.getTime() - 400 * DAY), days: 365 })
    await add(key.publicKey, { label: 'Vendor' })
    const [before, after] = [
      await key.clearsign('text', new Date(now.getTime() - 100 * DAY)),
      await key.clearsign('text', new Date(now.getTime() - 50 * DAY)),
    ]
    expect(await counts(key.fingerprint, before)).toBe(false)
    expect(warnOfKeys(await keys.list(), now)[0]).toContain('ended on 2026-10-17')
    await accept(key.fingerprint, new Date(now.getTime() + DAY))
    expect([await counts(key.fingerprint, before), await counts(key.fingerprint, after)]).toEqual([true, true])
    expect(warnOfKeys(await keys.list(), now)[0]).toContain('is accepted until 2026-11-22')
    now = new Date(now.getTime() + 2 * DAY)
    expect(await counts(key.fingerprint, before)).toBe(false)
  })

  test('of two copies of a key the later one counts, in whatever order they come', async () => {
    const made = new Date(now.getTime() - 400 * DAY)
    const key = await createVendorKey({ at: made, days: 365 })
    const renewed = await key.renewed(new Date(now.getTime() - 30 * DAY), 1000)
    for (const texts of [
      [key.publicKey, renewed],
      [renewed, key.publicKey],
    ]) {
      for (const text of texts) await add(text)
      const [shown] = await keys.list()
      expect(shown?.expiresAt).toEqual(new Date(made.getTime() + 1000 * DAY))
      expect(await counts(key.fingerprint, await key.clearsign('text', made))).toBe(true)
      await remove(key.fingerprint)
    }
  })

  test('of an APK repository need their file name', async () => {
    const key = createApkKey()
    expect(await said(add(key.publicKey))).toBe('bad_import_key')
    expect(await said(add(key.publicKey, { keyName: '../x.rsa.pub' }))).toBe('bad_import_key')
    await add(key.publicKey, { keyName: key.keyName })
    expect(await names()).toEqual([key.keyName])
    expect(await said(add('no key at all'))).toBe('bad_import_key')
  })
})
