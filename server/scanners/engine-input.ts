import { parsePurl, printPurl, type Purl } from '../core/purl.ts'
import type { ScanSubject } from './scanner.ts'

/** What the engines know of a distribution. `partial` data leave out what has no fix, or belong to a relative. */
export interface EngineDistribution {
  /** `ID-VERSION_ID` of os-release. grype takes only numbers; with a codename it finds nothing (its issue 2707). */
  readonly grype?: { readonly distro: string; readonly partial?: string }
  readonly trivy?: { readonly family: string; readonly version: string; readonly partial?: string }
}

const ERRATA = 'its data are errata, which leave out what has no fix'

const FAMILIES: Readonly<Record<string, (release: string) => EngineDistribution>> = {
  'debian': version => ({ grype: { distro: `debian-${version}` }, trivy: { family: 'debian', version } }),
  'ubuntu': version => ({ grype: { distro: `ubuntu-${version}` }, trivy: { family: 'ubuntu', version } }),
  'alpine': version => ({ grype: { distro: `alpine-${version}` }, trivy: { family: 'alpine', version } }),
  // grype judges both by RHEL's disclosures, which include unfixed ones; trivy by the errata of each
  'almalinux': version => ({
    grype: { distro: `almalinux-${version}` },
    trivy: { family: 'alma', version, partial: ERRATA },
  }),
  'rocky': version => ({ grype: { distro: `rocky-${version}` }, trivy: { family: 'rocky', version, partial: ERRATA } }),
  'centos': version => ({ grype: { distro: `centos-${version}`, partial: 'it is judged by the data of RHEL' } }),
  'oracle': version => ({
    grype: { distro: `ol-${version}`, partial: ERRATA },
    trivy: { family: 'oracle', version, partial: ERRATA },
  }),
  'fedora': version => ({ grype: { distro: `fedora-${version}`, partial: ERRATA } }),
  'opensuse.leap': version => ({ trivy: { family: 'opensuse-leap', version, partial: ERRATA } }),
  'opensuse.tumbleweed': version => ({ trivy: { family: 'opensuse-tumbleweed', version, partial: ERRATA } }),
}

/** What grype and trivy know about a distribution, by its name in `core/default-distributions.ts`: `debian:12`. */
export function engineDistribution(scanner: string | undefined): EngineDistribution {
  const [family = '', release = ''] = scanner?.split(':') ?? []
  return FAMILIES[family]?.(release) ?? {}
}

/** What the engines need differently for each kind of package URL. */
interface Kind {
  /** A version of `curl` so old that every distribution has fixes for it. */
  readonly control: string
  /** The version as trivy stores it: split for Debian and RPM, whole for Alpine. */
  parts(version: string): { readonly epoch?: string; readonly version: string; readonly release?: string }
  /** The purl qualifier that names the source package for grype. */
  upstream(name: string, version: string): string
}

function evr(text: string): ReturnType<Kind['parts']> {
  const [, epoch, version = '', release] = /^(?:(\d+):)?(.*?)(?:-([^-]*))?$/.exec(text) ?? []
  return { version, ...(epoch === undefined ? {} : { epoch }), ...(release === undefined ? {} : { release }) }
}

const byVersion = (name: string, version: string): string => `${name}@${version}`

const KINDS: Readonly<Record<string, Kind>> = {
  deb: { control: '0.0.1-1', parts: evr, upstream: byVersion },
  rpm: { control: '0.0.1-1', parts: evr, upstream: (name, version) => `${name}-${version}.src.rpm` },
  apk: { control: '0.0.1-r0', parts: version => ({ version }), upstream: byVersion },
}

function kindOf(type: string): Kind {
  const kind = KINDS[type]
  if (kind === undefined) throw new Error(`${type} is no kind of package that an engine is given`)
  return kind
}

/**
 * The control: a package that is vulnerable everywhere, given beside ours. An engine that finds nothing in it has no
 * data for the distribution or did not understand its input, so "no findings" about ours means nothing.
 */
export const CONTROL_NAME = 'curl'

/** Our package and the control, as both engines need them. */
export interface EngineInput {
  readonly subject: Purl
  readonly control: Purl
  readonly controlVersion: string
}

/** Facts that an engine needs by name, where the format has them. */
function factOf(facts: unknown, name: string): string | undefined {
  const value = typeof facts === 'object' && facts !== null ? (facts as Record<string, unknown>)[name] : undefined
  return typeof value === 'string' && value !== '' && value !== '(none)' ? value : undefined
}

/**
 * Adds the qualifiers that matching needs to a package URL: a numeric distro, and the source package. Without that, a
 * binary with another name is not found.
 */
export function engineInput({ purl, about, facts }: ScanSubject, distro: string): EngineInput {
  const own = parsePurl(purl)
  if (own === undefined) throw new Error(`${purl.slice(0, 200)} is no package URL`)
  const kind = kindOf(own.type)
  const module = factOf(facts, 'modularity')
  const { upstream: _, ...qualifiers } = own.qualifiers ?? {}
  const upstream = factOf(facts, 'sourcerpm') ?? kind.upstream(about.source, about.source_version)
  return {
    subject: {
      ...own,
      qualifiers: { ...qualifiers, distro, upstream, ...(module === undefined ? {} : { rpmmod: module }) },
    },
    control: {
      type: own.type,
      name: CONTROL_NAME,
      version: kind.control,
      ...(own.namespace === undefined ? {} : { namespace: own.namespace }),
      qualifiers: {
        distro,
        ...(own.qualifiers?.arch === undefined ? {} : { arch: own.qualifiers.arch }),
        upstream: kind.upstream(CONTROL_NAME, kind.control),
      },
    },
    controlVersion: kind.control,
  }
}

/** grype's `purl:` file: one package URL a line. */
export function printPurlFile({ subject, control }: EngineInput): string {
  return `${printPurl(subject)}\n${printPurl(control)}\n`
}

type Json = Readonly<Record<string, unknown>>

function trivyProperties(entries: Readonly<Record<string, string | undefined>>): Json[] {
  return Object.entries(entries).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: `aquasecurity:trivy:${name}`, value }],
  )
}

function sourceProperties(
  family: string,
  source: { readonly name: string; readonly version: string; readonly module?: string | undefined },
  kind: Kind,
): Json[] {
  const { epoch, version, release } = kind.parts(source.version)
  return trivyProperties({
    PkgType: family,
    SrcName: source.name,
    SrcVersion: version,
    SrcRelease: release,
    SrcEpoch: epoch,
    Modularitylabel: source.module,
  })
}

/**
 * trivy's `sbom` file: CycloneDX with one operating system, our package and the control. Without SrcName trivy takes
 * the name of the binary for that of the source and finds nothing in subpackages.
 */
export function printTrivyBill(
  input: EngineInput,
  subject: ScanSubject,
  { family, version }: { readonly family: string; readonly version: string },
): string {
  const kind = kindOf(input.subject.type)
  const { upstream: _, rpmmod: __, distro: ___, ...qualifiers } = input.subject.qualifiers ?? {}
  const bare = ({ qualifiers: all, ...purl }: Purl): Purl => ({
    ...purl,
    qualifiers: { ...(all?.arch === undefined ? {} : { arch: all.arch }), distro: `${family}-${version}` },
  })
  const purl = printPurl({ ...input.subject, qualifiers: { ...qualifiers, distro: `${family}-${version}` } })
  const control = printPurl(bare(input.control))
  const source = {
    name: subject.about.source,
    version: subject.about.source_version,
    module: factOf(subject.facts, 'modularity'),
  }
  return JSON.stringify({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    components: [
      {
        'bom-ref': 'os',
        'type': 'operating-system',
        'name': family,
        version,
        'properties': trivyProperties({ Type: family, Class: 'os-pkgs' }),
      },
      {
        'bom-ref': purl,
        'type': 'library',
        'name': input.subject.name,
        'version': input.subject.version,
        purl,
        'properties': sourceProperties(family, source, kind),
      },
      {
        'bom-ref': control,
        'type': 'library',
        'name': CONTROL_NAME,
        'version': input.controlVersion,
        'purl': control,
        'properties': sourceProperties(family, { name: CONTROL_NAME, version: input.controlVersion }, kind),
      },
    ],
    dependencies: [{ ref: 'os', dependsOn: [purl, control] }],
  })
}
