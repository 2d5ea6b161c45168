import { isRefusal } from '../core/errors.ts'
import { isRegistry } from '../core/repository.ts'
import type { Report } from '../core/report.ts'
import type { ClearSigned } from '../formats/announcements.ts'
import type { EmbeddedSignature } from '../formats/format.ts'
import type { Keyring, Signer } from '../signing/signer.ts'
import type { UploaderKeys } from '../signing/uploader-keys.ts'
import type { LookUpImageSignature } from './image-signatures.ts'
import { registrySignature } from './registry-signature.ts'
import type { Step } from './subject.ts'

// the check reads a signed part whole; a larger one is left to the client, which checks it anyway
const SIGNED_BYTES = 32 * 1024 * 1024

/** The signature as text; its checksum line is optional. Source: RFC 9580, 6.2 */
function armored(signature: Buffer): string {
  const text = signature.toString('latin1')
  return text.startsWith('-----BEGIN')
    ? text
    : `-----BEGIN PGP SIGNATURE-----\n\n${signature.toString('base64')}\n-----END PGP SIGNATURE-----\n`
}

async function readSigned({ signed }: EmbeddedSignature): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of signed()) {
    const bytes = Buffer.from(chunk)
    size += bytes.length
    if (size > SIGNED_BYTES) return undefined
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

async function checkEmbedded(signature: EmbeddedSignature, signer: Signer): Promise<Report> {
  const bytes = await readSigned(signature)
  if (bytes === undefined) {
    return {
      step: 'signature',
      outcome: 'warned',
      verdict: 'signed',
      said: 'The package carries a signature over more than 32 MB, which was not checked. The index is signed.',
    }
  }
  if (await isOurs(signature, bytes, signer)) {
    return {
      step: 'signature',
      outcome: 'ok',
      verdict: 'signed',
      said: 'The signature in the package is ours and is good. The index is signed.',
    }
  }
  // an RSA signature names only a key, and every package of Alpine's own has one: noted without a warning
  if (signature.kind === 'rsa') {
    return {
      step: 'signature',
      outcome: 'ok',
      verdict: 'signed',
      said: `The package carries a signature that names the key ${signature.keyName}; no key of this repository made it. The index is signed.`,
    }
  }
  return {
    step: 'signature',
    outcome: 'warned',
    verdict: 'signed',
    said: 'The package carries a signature that no key of this repository made. The index is signed.',
  }
}

function isOurs(signature: EmbeddedSignature, bytes: Buffer, signer: Signer): Promise<boolean> {
  if (signature.kind === 'openpgp') return signer.verifyOne(bytes, armored(signature.signature))
  const { keyName, hash, signature: made } = signature
  return signer.verifyRsa(bytes, { keyName, hash, signature: made })
}

/** A source package is signed by its maker; an unknown key is a warning. */
async function checkClearsigned({ document, text }: ClearSigned, keys: Pick<UploaderKeys, 'check'>): Promise<Report> {
  const signed = await keys.check(document, text)
  if (signed.kind === 'good')
    return {
      step: 'signature',
      outcome: 'ok',
      verdict: 'signed',
      said: `The .dsc is signed by ${signed.by.name} (${signed.by.fingerprint}). The index is signed.`,
    }
  return {
    step: 'signature',
    outcome: 'warned',
    verdict: 'signed',
    said:
      signed.kind === 'unknown'
        ? `The .dsc is signed by ${signed.keyIds.join(', ')}, which is no uploader key here. The index is signed.`
        : `The signature of the .dsc does not hold: ${signed.why}. The index is signed.`,
  }
}

/**
 * Step 5. Checks the signature inside a package, and that there is a key for the index: nothing is published unsigned,
 * so without a key the package waits. Never changes the package.
 */
export function signatureStep(
  keyring: Pick<Keyring, 'keys' | 'signer'>,
  keys: Pick<UploaderKeys, 'check'>,
  ofImage: LookUpImageSignature,
): Step {
  return {
    name: 'signature',
    async run(subject, signal) {
      if (isRegistry(subject.distribution)) {
        const { signing } = subject.format
        return signing === undefined ? registrySignature(subject) : ofImage(subject, signing, signal)
      }
      let signer: Signer
      try {
        signer = await keyring.signer()
      } catch (error) {
        if (!isRefusal(error, 'no_signing_key')) throw error
        return {
          step: 'signature',
          outcome: 'unavailable',
          verdict: 'no_signing_key',
          said: 'There is no signing key, and nothing is published unsigned: the package waits for review. An admin makes a key on the page Distributions.',
        }
      }
      const { signature, clearsigned } = await subject.inspected(signal)
      if (clearsigned !== undefined) return checkClearsigned(clearsigned, keys)
      if (signature !== undefined) return checkEmbedded(signature, signer)
      const key = signer.keys.find(({ role }) => role === 'current')
      return {
        step: 'signature',
        outcome: 'ok',
        verdict: 'signed',
        said:
          key === undefined
            ? 'The package carries no signature of its own. The index is signed.'
            : `The package carries no signature of its own. The index is signed by ${key.fingerprint}.`,
      }
    },
  }
}
