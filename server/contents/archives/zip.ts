import { malformed } from '../../lib/limited.ts'
import type { Unpacker } from '../reader.ts'
import { readZipDirectory } from '../../lib/zip-directory.ts'
import { whyClosed } from '../../lib/zip-entry.ts'
import { openMember, whyDamaged } from './zip-member.ts'

/** Names of what can be nothing but a zip. */
const ALWAYS = /\.(?:jar|war|ear|hpi|jpi|whl|zip)$/i
/** Names of archives that may be zips; others are recognised by their first bytes. */
const NAME = /\.(?:jar|war|ear|rar|sar|par|kar|nar|lpkg|hpi|jpi|jmod|aar|zip|whl|egg|pyz|xpi|nupkg|vsix|apk|ipa)$/i
/** Beginnings of what may stand before a zip: a script, an ELF or PE program, a browser's extension, a jmod. */
const BEFORE = ['#!', '\x7fELF', 'MZ', 'Cr24', 'JM']

const begins = (head: Buffer, magic: string): boolean => head.toString('latin1', 0, magic.length) === magic
const isZip = (head: Buffer): boolean => begins(head, 'PK\x03\x04') || begins(head, 'PK\x05\x06')

/** Zips by their central directory, also behind a script or a program. Class files are left out: none is an archive. */
export const zip: Unpacker = {
  id: 'zip',
  wants: ({ path, head }) => isZip(head) || NAME.test(path) || BEFORE.some(one => begins(head, one)),
  async *files(file, room) {
    const directory = await readZipDirectory(file, room.limits.entries)
    if (directory === undefined) {
      if (isZip(file.head)) malformed('the zip has no end record: it is cut off')
      return ALWAYS.test(file.path) ? malformed('it is no zip, whatever its name says') : undefined
    }
    for (const why of directory.faults) yield { path: file.path, size: file.size, why }
    for (const member of directory.members) {
      const path = `${file.path}!/${member.name}`
      const why = whyClosed(member)
      if (why !== undefined) yield { path, size: member.size, why }
      else if (member.name.endsWith('.class')) yield { other: path }
      else {
        let open
        try {
          open = await openMember(file, member, { path, room })
        } catch (error) {
          yield { path, size: member.size, why: whyDamaged(error) }
          continue
        }
        try {
          yield open
        } finally {
          await open.close()
        }
      }
    }
  },
}
