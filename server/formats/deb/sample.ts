import { gzipSync } from 'node:zlib'
import { AR_MAGIC } from '../../lib/ar.ts'
import { END, entryOf, type Brought } from '../../lib/tar-writer.ts'
import { foldersOf, SAMPLE } from '../sample.ts'

const packed = (entries: readonly Brought[]): Buffer => gzipSync(Buffer.concat([...entries.map(entryOf), END]))

/** Source: ar(5); deb(5). */
const member = (name: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `${name.padEnd(16)}${String(SAMPLE.built).padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(body.length).padEnd(10)}\`\n`,
    ),
    body,
    Buffer.from(body.length % 2 === 0 ? '' : '\n'),
  ])

/** `gatehouse-hello_1.0_all.deb` */
export function sample(): { readonly filename: string; readonly bytes: Buffer } {
  const { name, version, summary, text, path, program } = SAMPLE
  const control = `Package: ${name}
Version: ${version}
Architecture: all
Maintainer: Gatehouse <gatehouse@localhost>
Installed-Size: 1
Section: misc
Priority: optional
Description: ${summary}
 ${text}
`
  return {
    filename: `${name}_${version}_all.deb`,
    bytes: Buffer.concat([
      Buffer.from(AR_MAGIC, 'latin1'),
      member('debian-binary', Buffer.from('2.0\n')),
      member('control.tar.gz', packed([{ name: './control', mode: 0o644, content: Buffer.from(control) }])),
      member(
        'data.tar.gz',
        packed([
          ...['', ...foldersOf(path)].map(folder => ({ name: `./${folder}`, mode: 0o755 })),
          { name: `./${path}`, mode: 0o755, content: program },
        ]),
      ),
    ]),
  }
}
