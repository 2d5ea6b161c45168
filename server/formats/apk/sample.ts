import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { END, entryOf } from '../../lib/tar-writer.ts'
import { foldersOf, SAMPLE } from '../sample.ts'

/** `gatehouse-hello-1.0-r0.apk`: a member with .PKGINFO, without the end of an archive, and one with the files. */
export function sample(): { readonly filename: string; readonly bytes: Buffer } {
  const { name, summary, path, program, license, built } = SAMPLE
  const version = `${SAMPLE.version}-r0`
  const data = gzipSync(
    Buffer.concat([
      ...foldersOf(path).map(folder => entryOf({ name: folder, mode: 0o755 })),
      // apk-tools 3 refuses a file without it
      entryOf({
        name: path,
        mode: 0o755,
        content: program,
        pax: { 'APK-TOOLS.checksum.SHA1': createHash('sha1').update(program).digest('hex') },
      }),
      END,
    ]),
  )
  const pkginfo = `pkgname = ${name}
pkgver = ${version}
pkgdesc = ${summary}
url = https://localhost/
builddate = ${built}
packager = Gatehouse <gatehouse@localhost>
size = ${program.length}
arch = noarch
origin = ${name}
license = ${license}
datahash = ${createHash('sha256').update(data).digest('hex')}
`
  const control = gzipSync(entryOf({ name: '.PKGINFO', mode: 0o644, content: Buffer.from(pkginfo) }))
  return { filename: `${name}-${version}.apk`, bytes: Buffer.concat([control, data]) }
}
