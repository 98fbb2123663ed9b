/** A square picture of grey values from 0 to 255. */
abstract class ImageWorkload extends Workload {
    protected int paramSize = 256;
    protected int[] image;

    @Override protected void prepare() {
        SplitMix random = new SplitMix(8);
        image = new int[paramSize * paramSize];
        for (int place = 0; place < image.length; place++) image[place] = random.nextInt(256);
    }
}
