import npm from './typescript/package.json' with { type: 'json' };

/** A client that a generator makes, and the small program here that uses it. */
export interface Client {
  /** `npm run clients -- NAME` runs this client only. */
  readonly name: string;
  /** The folder here that has the program; empty if no machine of ours had the compiler. */
  readonly folder: string;
  readonly generator: string;
  readonly version: string;
  readonly language: string;
  /** The program that makes the generator run. */
  readonly runtime: string;
  readonly compiler: string;
  readonly setUp: string;
  /** As docs/use/generated-clients.md shows it. */
  readonly generate: string;
  readonly compile: string;
  readonly run: string;
  readonly note: string;
}

const { dependencies, devDependencies } = npm;
const jarVersion = '7.25.0';

const byOpenapiGenerator = {
  generator: 'openapi-generator',
  version: jarVersion,
  runtime: 'mvn',
  setUp: `mvn -q dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:${jarVersion} -DoutputDirectory=. -Dmdep.stripVersion`,
};
const byNpm = {
  folder: 'typescript',
  language: 'TypeScript',
  runtime: 'npm',
  compiler: 'npm',
  setUp: 'npm ci',
};

function jar(language: string, options = ''): string {
  return `java -jar openapi-generator-cli.jar generate -i openapi.json -g ${language}${options} -o client`;
}

function builtFrom(program: string): Pick<Client, 'compile' | 'run'> {
  const strict = '--strict --skipLibCheck --target esnext --module nodenext --outDir built';
  return { compile: `npx tsc ${strict} ${program}.ts`, run: `node built/${program}.js` };
}

export const clients: readonly Client[] = [
  {
    ...byOpenapiGenerator,
    name: 'java',
    folder: 'java',
    language: 'Java',
    compiler: 'mvn',
    generate: jar('java', ' --library native'),
    compile: 'mvn -q -f client compile dependency:copy-dependencies',
    run: "java -cp 'client/target/classes:client/target/dependency/*' CreatePlant.java",
    note: 'The body of an `ApiException` is text, which the mapper of `ApiClient` reads as an `Error`.',
  },
  {
    ...byOpenapiGenerator,
    name: 'kotlin',
    folder: 'kotlin',
    language: 'Kotlin',
    compiler: 'mvn',
    generate: jar('kotlin'),
    compile: 'mvn -q compile dependency:copy-dependencies',
    run: "java -cp 'target/classes:target/dependency/*' CreatePlantKt",
    note: 'The body of a `ClientError` is text, which `Serializer.moshi` reads as an `Error`.',
  },
  {
    ...byOpenapiGenerator,
    name: 'csharp',
    folder: '',
    language: 'C#',
    compiler: 'dotnet',
    generate: jar('csharp'),
    compile: 'dotnet build client/src/Org.OpenAPITools',
    run: '',
    note: '',
  },
  {
    ...byOpenapiGenerator,
    name: 'go',
    folder: 'go',
    language: 'Go',
    compiler: 'go',
    generate: jar(
      'go',
      ' --additional-properties=packageName=plants,withGoMod=false --model-name-mappings=Plant=StoredPlant',
    ),
    compile: 'rm -rf client/test && go build -o create-plant .',
    run: './create-plant',
    note: 'Without `--model-name-mappings` it does not compile: the type `NewPlant` and the constructor of `Plant` have one name.',
  },
  {
    ...byOpenapiGenerator,
    name: 'python',
    folder: 'python',
    language: 'Python',
    compiler: 'python3',
    generate: jar('python'),
    compile: 'python3 -m venv .venv && pip install -q ./client',
    run: 'python create_plant.py',
    note: '',
  },
  {
    ...byOpenapiGenerator,
    name: 'rust',
    folder: 'rust',
    language: 'Rust',
    compiler: 'cargo',
    generate: jar('rust'),
    compile: 'cargo build -q',
    run: 'target/debug/create-plant',
    note: 'The functions return no header fields, so the program cannot compare `Plant-Id`.',
  },
  {
    name: 'oapi-codegen',
    folder: 'oapi-codegen',
    generator: 'oapi-codegen',
    version: '2.8.2',
    language: 'Go',
    runtime: 'go',
    compiler: 'go',
    setUp: 'mkdir -p client',
    generate:
      'go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -config oapi-codegen.yaml openapi.json',
    compile: 'go mod tidy && go build -o create-plant .',
    run: './create-plant',
    note: '`skip-prune` keeps the constants of `ErrorCode`.',
  },
  {
    name: 'openapi-python-client',
    folder: 'openapi-python-client',
    generator: 'openapi-python-client',
    version: '0.29.1',
    language: 'Python',
    runtime: 'python3',
    compiler: 'python3',
    setUp: 'python3 -m venv .venv && pip install -q openapi-python-client==0.29.1 ruff==0.17.6',
    generate: 'openapi-python-client generate --path openapi.json --output-path client --overwrite',
    compile: 'pip install -q ./client',
    run: 'python create_plant.py',
    note: '',
  },
  {
    ...byNpm,
    name: 'openapi-fetch',
    generator: 'openapi-typescript, openapi-fetch',
    version: `${devDependencies['openapi-typescript']}, ${dependencies['openapi-fetch']}`,
    generate: 'npx openapi-typescript openapi.json -o openapi-typescript/schema.ts',
    ...builtFrom('openapi-fetch'),
    note: 'Exact only with `BigInt.prototype.toJSON`. An id is a `number`, and a `bigint` needs a cast.',
  },
  {
    ...byNpm,
    name: 'hey-api',
    generator: '@hey-api/openapi-ts',
    version: devDependencies['@hey-api/openapi-ts'],
    generate: 'npx openapi-ts -i openapi.json -o hey-api',
    ...builtFrom('hey-api'),
    note: 'Exact only with `BigInt.prototype.toJSON`. An id is a `number`, and a `bigint` needs a cast.',
  },
  {
    ...byNpm,
    name: 'orval',
    generator: 'orval',
    version: devDependencies.orval,
    generate: 'npx orval',
    ...builtFrom('orval'),
    note: 'Exact only with `BigInt.prototype.toJSON`. `useBigInt` makes an id a `bigint`.',
  },
];
