import { open } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { machineFaultOf } from './machine-faults.ts'

const coded = (code: string, message = code): Error => Object.assign(new Error(message), { code })

test.each([
  ['a full disk', coded('ENOSPC'), 'disk_full'],
  ['a quota that is used up', coded('EDQUOT'), 'disk_full'],
  [
    'a database whose disk is full',
    coded('53100', 'could not extend file "base/5/1": No space left on device'),
    'disk_full',
  ],
  [
    'a cause of a cause',
    new Error('outer', { cause: new Error('inner', { cause: coded('EROFS') }) }),
    'disk_read_only',
  ],
  [
    'a database that cannot write',
    coded('42501', 'could not open file "base/5/1": Read-only file system'),
    'disk_read_only',
  ],
  ['a right that is missing', coded('42501', 'permission denied for table package'), undefined],
  ['no descriptor left', coded('EMFILE'), 'too_many_files'],
  ['a name of every object', coded('toString'), undefined],
  ['no error at all', null, undefined],
  ['text', 'ENOSPC', undefined],
])('%s', (_, error, lack) => {
  expect(machineFaultOf(error)).toBe(lack)
})

test('an error that is its own cause ends', () => {
  const error = new Error('round')
  error.cause = error
  expect(machineFaultOf(error)).toBeUndefined()
})

test.skipIf(process.platform !== 'linux')('what a write to a device without room throws', async () => {
  const handle = await open('/dev/full', 'w')
  try {
    expect(await handle.writeFile('x').catch(machineFaultOf)).toBe('disk_full')
  } finally {
    await handle.close().catch(() => undefined)
  }
})
