import { normalName } from './names.ts'
import { TOKEN_PLACE, TOKEN_USER, type ConfigFile } from '../../core/client-setup.ts'
import type { RegistryClient, RegistryFacts, RegistrySetup } from '../registry-client.ts'

interface Place extends RegistryFacts {
  readonly codename: string
}

/** The address with the credential that clients send. */
const signedIn = (address: string): string => address.replace('://', `://${TOKEN_USER}:${TOKEN_PLACE}@`)
const simpleOf = ({ address, needsToken }: RegistryFacts): string =>
  `${needsToken ? signedIn(address) : address}/simple/`
const legacyOf = ({ address }: RegistryFacts): string => `${address}/legacy/`

/** pip takes an index without TLS only from a host that is named as trusted. */
const trusted = ({ address }: RegistryFacts): string | undefined => {
  const { protocol, hostname } = new URL(address)
  return protocol === 'http:' ? hostname : undefined
}

const ALONE =
  'Use it as the only index. With extra-index-url pip takes the highest version of either, and a stranger may publish your names there.'

function pip(place: Place): RegistrySetup {
  const host = trusted(place)
  const config: ConfigFile = {
    path: '~/.config/pip/pip.conf',
    content: `[global]\nindex-url = ${simpleOf(place)}\n${host === undefined ? '' : `trusted-host = ${host}\n`}`,
    ...(place.needsToken ? { secret: true } : {}),
  }
  const upload: ConfigFile = {
    path: '~/.pypirc',
    content: `[distutils]\nindex-servers = ${place.codename}\n\n[${place.codename}]\nrepository = ${legacyOf(place)}\nusername = ${TOKEN_USER}\npassword = ${TOKEN_PLACE}\n`,
    secret: true,
  }
  return {
    client: place.publishes ? 'pip, twine' : 'pip',
    files: place.publishes ? [config, upload] : [config],
    setup: [
      `pip config set global.index-url ${simpleOf(place)}`,
      ...(host === undefined ? [] : [`pip config set global.trusted-host ${host}`]),
    ],
    install: 'pip install PACKAGE',
    publish: `twine upload --repository ${place.codename} dist/*`,
    notes: [ALONE, 'A version that waits for review is listed as yanked; pip install PACKAGE==VERSION says why.'],
  }
}

function uv(place: Place): RegistrySetup {
  const { codename, needsToken, publishes } = place
  return {
    client: 'uv',
    files: [
      {
        path: '~/.config/uv/uv.toml',
        content: `[[index]]\nname = "${codename}"\nurl = "${simpleOf(place)}"\n${publishes ? `publish-url = "${legacyOf(place)}"\n` : ''}default = true\n`,
        ...(needsToken ? { secret: true } : {}),
      },
    ],
    setup: [],
    install: 'uv pip install PACKAGE',
    publish: `UV_PUBLISH_TOKEN=${TOKEN_PLACE} uv publish --publish-url ${legacyOf(place)}`,
    notes: publishes ? ['uv publish says nothing of a version that waits for review; the console lists it.'] : [],
  }
}

function poetry(place: Place): RegistrySetup {
  const { codename, address } = place
  return {
    client: 'poetry',
    files: [],
    setup: [
      `poetry source add --priority=primary ${codename} ${address}/simple/`,
      ...(place.publishes ? [`poetry config repositories.${codename} ${legacyOf(place)}`] : []),
      `poetry config http-basic.${codename} ${TOKEN_USER} ${TOKEN_PLACE}`,
    ],
    install: 'poetry add PACKAGE',
    publish: `poetry publish --build --repository ${codename}`,
    notes: ['A primary source takes the place of PyPI; the first of these lines is for each project.'],
  }
}

/** Source: pip, "Configuration"; docs.astral.sh/uv; python-poetry.org, "Repositories"; twine.readthedocs.io */
export const pypiClient: RegistryClient = {
  root: 'pypi',
  nameKey: normalName,
  setups({ codename }, facts) {
    const place: Place = { ...facts, codename }
    return [pip(place), uv(place), poetry(place)]
  },
}
