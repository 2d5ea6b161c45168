import { createCleartextMessage, generateKey, revokeKey, sign } from 'openpgp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDeveloper, type Developer } from '../../test/support/gpg.ts'
import { createTestDb, type TestDb } from '../../test/support/postgres.ts'
import { lacking } from '../../test/support/tools.ts'
import { isRefusal } from '../core/errors.ts'
import { createUploaderKeys, type UploaderKeys } from './uploader-keys.ts'

const TEXT = 'Format: 1.8\nSource: acme\nChanges:\n acme (1.0)\n .\n   * - dash   \n'

describe.skipIf(lacking('gnupg').length > 0)('the keys of developers', () => {
  let test_: TestDb
  let keys: UploaderKeys
  let now: Date
  let jo: Developer
  let eve: Developer
  let rsa: Developer
  let old: Developer
  beforeAll(async () => {
    test_ = await createTestDb()
    keys = createUploaderKeys({ db: test_.db, clock: { now: () => now } })
    ;[jo, eve, rsa, old] = await Promise.all([
      createDeveloper('Jo <jo@example.test>', { expires: '10d' }),
      createDeveloper('Eve <eve@example.test>'),
      createDeveloper('Ro <ro@example.test>', { kind: 'rsa3072' }),
      createDeveloper('Old <old@example.test>', { expires: '1d', time: '20200101T000000' }),
    ])
    now = new Date() // their keys are of a second before
  }, 90_000)
  afterAll(async () => {
    await Promise.all([jo, eve, rsa, old].map(one => one.close()))
    await test_.close()
  })

  const add = (name: string, publicKey: string, distributions?: readonly string[]) =>
    test_.db.tx(tx => keys.add(tx, { name, publicKey, distributions, by: 'ada' }))
  const refusal = async (work: Promise<unknown>): Promise<unknown> => {
    try {
      await work
      return 'it was taken'
    } catch (error) {
      if (isRefusal(error)) return [error.code, error.message]
      throw error
    }
  }

  test('are listed with what people need to know of them', async () => {
    await add('jo', jo.publicKey, ['bookworm'])
    await add('ro', rsa.publicKey)
    expect(await keys.list()).toEqual([
      {
        name: 'jo',
        fingerprint: jo.fingerprint,
        user_ids: ['Jo <jo@example.test>'],
        algorithm: 'ed25519Legacy',
        created_at: expect.stringMatching(/Z$/) as string,
        expires_at: expect.stringMatching(/Z$/) as string,
        distributions: ['bookworm'],
        added_by: 'ada',
        added_at: now.toISOString(),
      },
      {
        name: 'ro',
        fingerprint: rsa.fingerprint,
        user_ids: ['Ro <ro@example.test>'],
        algorithm: 'rsa3072',
        created_at: expect.stringMatching(/Z$/) as string,
        distributions: null,
        added_by: 'ada',
        added_at: now.toISOString(),
      },
    ])
  })

  test('tell a signature by one of them from an unknown key and from an invalid signature', async () => {
    const by = async (developer: Developer): Promise<string> => (await developer.clearsign(TEXT)).toString()
    expect(await keys.check(await by(jo), TEXT)).toMatchObject({ kind: 'good', by: { name: 'jo' } })
    expect(await keys.check(await by(rsa), TEXT)).toMatchObject({ kind: 'good', by: { name: 'ro' } })
    expect(await keys.check(await by(eve), TEXT)).toEqual({ kind: 'unknown', keyIds: [eve.fingerprint.slice(-16)] })
    const signed = await by(jo)
    expect(await keys.check(signed.replace('acme (1.0)', 'acme (6.6)'), TEXT.replace('1.0', '6.6'))).toMatchObject({
      kind: 'bad',
      why: expect.stringMatching(/signed|digest/i) as string,
    })
    expect(await keys.check(signed, `${TEXT}Closes: 1\n`)).toEqual({
      kind: 'bad',
      why: 'the signature is over another text than the one that is read',
    })
    expect(await keys.check('no document', 'no document')).toMatchObject({ kind: 'bad' })
  })

  test('count no more once they have expired or are removed', async () => {
    const signed = (await jo.clearsign(TEXT)).toString()
    const today = now
    now = new Date(today.getTime() + 11 * 86_400_000)
    expect(await keys.check(signed, TEXT)).toMatchObject({
      kind: 'bad',
      why: expect.stringMatching(/expired/) as string,
    })
    now = today
    expect(await test_.db.tx(tx => keys.remove(tx, 'jo'))).toMatchObject({ fingerprint: jo.fingerprint })
    expect(await keys.check(signed, TEXT)).toMatchObject({ kind: 'unknown' })
    expect(await refusal(test_.db.tx(tx => keys.remove(tx, 'jo')))).toMatchObject([
      'uploader_key_not_found',
      expect.any(String),
    ])
    await add('jo', jo.publicKey)
  })

  test('are accepted only as one usable public key, and once', async () => {
    const before = await keys.list()
    const refused = async (name: string, key: string): Promise<unknown> => refusal(add(name, key))
    expect(await refused('x', 'hello')).toMatchObject([
      'bad_uploader_key',
      expect.stringMatching(/no armoured OpenPGP key/),
    ])
    expect(await refused('x', `${jo.publicKey}\n${eve.publicKey}`)).toMatchObject([
      'bad_uploader_key',
      expect.stringMatching(/several keys/),
    ])
    expect(await refused('x', old.publicKey)).toMatchObject(['bad_uploader_key', expect.stringMatching(/expired/)])
    expect(await refused('jo', eve.publicKey)).toMatchObject([
      'uploader_key_exists',
      expect.stringMatching(/key jo already/),
    ])
    expect(await refused('jo2', jo.publicKey)).toMatchObject([
      'uploader_key_exists',
      expect.stringMatching(/key jo already/),
    ])
    expect(await refused('x', await eve.privateKey())).toMatchObject([
      'bad_uploader_key',
      expect.stringMatching(/private key/),
    ])
    expect(await refused('x', (await eve.privateKey()).replaceAll('PRIVATE', 'PUBLIC'))).toMatchObject([
      'bad_uploader_key',
      expect.stringMatching(/private key/),
    ])
    expect(await refused('x', `\0${eve.publicKey}`)).toMatchObject(['bad_uploader_key', expect.any(String)])
    const userIDs = Array.from({ length: 101 }, (_, i) => ({ name: `u${i}` }))
    const { publicKey: crowded } = await generateKey({ userIDs, subkeys: [] })
    expect(await refused('x', crowded)).toMatchObject([
      'bad_uploader_key',
      expect.stringMatching(/more than 100 user ids/),
    ])
    expect(await keys.list()).toEqual(before)
  })

  test('are kept without what stands around them', async () => {
    const secret = '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n'
    await add('eve', `${eve.publicKey}\n${secret}`)
    const kept = await test_.db.query<{ public_key: string }>('select public_key from uploader_key')
    expect(kept.filter(one => one.public_key.includes('PRIVATE'))).toEqual([])
    expect(await keys.check((await eve.clearsign(TEXT)).toString(), TEXT)).toMatchObject({ by: { name: 'eve' } })
    await test_.db.tx(tx => keys.remove(tx, 'eve'))
  })

  test('that two admins add at once are added once', async () => {
    const both = await Promise.all(['eve', 'eva'].map(name => refusal(add(name, eve.publicKey))))
    expect(both.map(one => (Array.isArray(one) ? one[0] : one)).sort()).toEqual(['it was taken', 'uploader_key_exists'])
    for (const { name } of await keys.list()) if (name.startsWith('ev')) await test_.db.tx(tx => keys.remove(tx, name))
  })

  test('prove nothing by MD5 or SHA-1, nor once they are revoked', async () => {
    const weak = await rsa.clearsign(TEXT, 'SHA1')
    expect(weak.toString()).toContain('Hash: SHA1')
    expect(await keys.check(weak.toString(), TEXT)).toEqual({
      kind: 'bad',
      why: 'Insecure message hash algorithm: SHA1',
    })
    const { privateKey, publicKey } = await generateKey({ userIDs: [{ name: 'Gone' }], date: now, format: 'object' })
    const message = await createCleartextMessage({ text: TEXT })
    const signed = (await sign({ message, signingKeys: privateKey, date: now })).replaceAll('\r\n', '\n')
    await add('gone', publicKey.armor())
    expect(await keys.check(signed, TEXT)).toMatchObject({ kind: 'good', by: { name: 'gone' } })
    await test_.db.tx(tx => keys.remove(tx, 'gone'))
    const revoked = await revokeKey({ key: privateKey, date: now, format: 'object' })
    expect(await refusal(add('gone', revoked.publicKey.armor()))).toMatchObject([
      'bad_uploader_key',
      expect.stringMatching(/revoked/),
    ])
  })
})
