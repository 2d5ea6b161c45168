/** The main attributes of a jar, by their names in lower case. */
export type Manifest = ReadonlyMap<string, string>

const MOST_ATTRIBUTES = 2_000

function attributesOf(section: string): Manifest {
  const attributes = new Map<string, string>()
  for (const line of section.replaceAll('\n ', '').split('\n', MOST_ATTRIBUTES)) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).trim().toLowerCase()
    if (name !== '' && !attributes.has(name))
      attributes.set(
        name,
        Buffer.from(line.slice(colon + 1), 'latin1')
          .toString('utf8')
          .trim(),
      )
  }
  return attributes
}

/**
 * The first section of a MANIFEST.MF; the ones behind it are about single files of the jar. A line that begins with a
 * blank continues the one before, also within a character of several bytes. Source:
 * https://docs.oracle.com/en/java/javase/21/docs/specs/jar/jar.html, "Name-Value pairs and Sections"
 */
export function readManifest(bytes: Buffer): Manifest {
  const text = bytes.toString('latin1').replace(/\r\n?/g, '\n')
  const end = text.indexOf('\n\n')
  return attributesOf(end === -1 ? text : text.slice(0, end))
}

const MOST_SECTIONS = 2_000

/** The later sections, by the folder or file that each is about. */
export function readSections(bytes: Buffer): ReadonlyMap<string, Manifest> {
  const text = bytes.toString('latin1').replace(/\r\n?/g, '\n')
  const sections = text.split(/\n\n+/, MOST_SECTIONS).slice(1).map(attributesOf)
  return new Map(sections.map(section => [section.get('name') ?? '', section]))
}

/** `com.example.a;singleton:=true` is `com.example.a`. */
export function bundleName(manifest: Manifest): string {
  return (manifest.get('bundle-symbolicname') ?? '').split(';')[0]?.trim() ?? ''
}

// qualifiers that stand behind a dot in Maven versions, too: `5.4.0.Final`, `9.4.38.v20210224`
const DOTTED = /^(?:final|release|ga|sp\d*|v\d{6,}\w*|sec\d+|\d.*)$/i

// Derby counts its third and fourth number in one
const MILLION = 1_000_000

/**
 * The Maven version behind a Bundle-Version, which has three numbers and then a qualifier: `29.0.0.jre` was `29.0-jre`,
 * `2.0.0.beta9` was `2.0-beta9`, and Derby's `10.14.2000000.1828579` was `10.14.2.0`. Undefined for what is none.
 * Source: OSGi Core 8, 3.2.5 "Version"
 */
export function undoBundleVersion(text: string): string | undefined {
  const [whole, major = '', minor = '', micro = '', qualifier = ''] =
    /^(\d{1,9})(?:\.(\d{1,9})(?:\.(\d{1,9})(?:\.([\w-]{1,100}))?)?)?$/.exec(text) ?? []
  const third = Number(micro)
  if (third >= MILLION) return `${major}.${minor}.${Math.floor(third / MILLION)}.${third % MILLION}`
  if (qualifier === '' || DOTTED.test(qualifier)) return whole
  // the time of a build: `2.13.6.v20210514-180743-VFINAL-9468b9a`
  if (/^v\d{6}/.test(qualifier)) return `${major}.${minor}.${micro}`
  return `${micro === '0' ? `${major}.${minor}` : `${major}.${minor}.${micro}`}-${qualifier}`
}

/** The version that a manifest says, as Maven would write it. `Specification-Version` is that of an interface. */
export function manifestVersion(manifest: Manifest): string | undefined {
  const said = manifest.get('implementation-version') ?? ''
  return /^\d[\w.+~-]*$/.test(said) && said.length <= 200
    ? said
    : undoBundleVersion(manifest.get('bundle-version') ?? '')
}
