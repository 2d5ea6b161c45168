import { together, type SpooledFile } from '../../server/files/spool.ts'
import { buildJar } from './jar.ts'
import { spoolBytes } from './packages.ts'

export interface PomParts {
  readonly group?: string
  readonly artifact?: string
  readonly version?: string
  readonly packaging?: string
  /** What stands beside the coordinates, as XML. */
  readonly more?: string
}

/** A pom.xml. */
export const buildPom = ({
  group = 'org.example',
  artifact = 'lib',
  version = '1.0',
  packaging,
  more = '',
}: PomParts = {}): Buffer =>
  Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>${group}</groupId>
  <artifactId>${artifact}</artifactId>
  <version>${version}</version>
${packaging === undefined ? '' : `  <packaging>${packaging}</packaging>\n`}${more}
</project>
`)

/** `<dependency>` with these fields, `g:a:v` or `g:a`. */
export function dependency(coordinates: string, more = ''): string {
  const [group = '', artifact = '', version] = coordinates.split(':')
  return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId>${version === undefined ? '' : `<version>${version}</version>`}${more}</dependency>`
}

/** A jar with one class and what else is asked for. */
export const buildLibrary = (more: Readonly<Record<string, string | Buffer>> = {}): Buffer =>
  buildJar({
    manifest: {},
    classes: ['org/example/Lib'],
    more: Object.entries(more).map(([name, body]) => ({ name, body })),
  })

/** The files of a version as they have arrived, the first one as the main one. */
export async function spoolVersion(folder: string, files: Readonly<Record<string, Buffer>>): Promise<SpooledFile> {
  const [main, ...beside] = await Promise.all(
    Object.entries(files).map(([filename, content]) => spoolBytes(folder, filename, content)),
  )
  if (main === undefined) throw new Error('a version has a file at least')
  return beside.length === 0 ? main : together(main, beside)
}
