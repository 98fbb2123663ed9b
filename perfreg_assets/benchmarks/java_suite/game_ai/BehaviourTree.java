/** Agents that decide by a behaviour tree: eat when hungry, sleep when tired, gather else. */
public final class BehaviourTree extends Workload {
    private static final int FAILED = 0, DONE = 1, GOES_ON = 2;
    protected int paramAgents = 100, paramTicks = 1000;
    private Agent[] agents;

    private static final class Agent {
        int hunger, tiredness, food, asleep, luck;
    }

    private interface Node { int tick(Agent agent); }

    private static Node sequence(Node... parts) {
        return agent -> {
            for (Node one : parts) {
                int state = one.tick(agent);
                if (state != DONE) return state;
            }
            return DONE;
        };
    }

    private static Node selector(Node... parts) {
        return agent -> {
            for (Node one : parts) {
                int state = one.tick(agent);
                if (state != FAILED) return state;
            }
            return FAILED;
        };
    }

    private static final Node TREE = selector(
        sequence(agent -> agent.asleep > 0 ? DONE : FAILED, BehaviourTree::sleep),
        sequence(agent -> agent.hunger > 20 ? DONE : FAILED, agent -> agent.food > 0 ? DONE : FAILED, BehaviourTree::eat),
        sequence(agent -> agent.tiredness > 50 ? DONE : FAILED, BehaviourTree::lieDown),
        BehaviourTree::gather);

    private static int sleep(Agent agent) {
        agent.tiredness -= 8;
        return --agent.asleep > 0 ? GOES_ON : DONE;
    }

    private static int eat(Agent agent) {
        agent.food--;
        agent.hunger -= 15;
        return DONE;
    }

    private static int lieDown(Agent agent) {
        agent.asleep = 6;
        return GOES_ON;
    }

    private static int gather(Agent agent) {
        agent.luck = agent.luck * 1664525 + 1013904223;
        agent.tiredness += 2;
        if (agent.luck >>> 30 != 0) return FAILED;
        agent.food++;
        return DONE;
    }

    @Override protected long payload() {
        agents = new Agent[paramAgents];
        for (int number = 0; number < paramAgents; number++) {
            agents[number] = new Agent();
            agents[number].luck = number;
        }
        for (int tick = 0; tick < paramTicks; tick++)
            for (Agent one : agents) {
                one.hunger++;
                if (TREE.tick(one) == FAILED) one.hunger++;
            }
        return (long) paramAgents * paramTicks;
    }

    @Override protected long checksum() {
        long sum = 0;
        for (Agent one : agents) sum = Fold.add(sum, Fold.of(one.hunger, one.tiredness, one.food, one.asleep, one.luck));
        return sum;
    }
}
